/** Changes that are remembered, for those who keep something made of rows up to date. */
const REMEMBERED = 1000

/** Counts the changes to a list of rows and knows from which place on each one changed it. */
export class RowChanges {
  #version = 0
  /** First place that the change to a version touched. */
  #changes: { readonly version: number; readonly from: number }[] = []
  readonly #listeners = new Set<() => void>()

  get version(): number {
    return this.#version
  }

  /** The list is another one from this place on. */
  add(from: number): void {
    this.#version += 1
    this.#changes.push({ version: this.#version, from })
    if (this.#changes.length > 2 * REMEMBERED) this.#changes = this.#changes.slice(-REMEMBERED)
    for (const listener of this.#listeners) listener()
  }

  /** The first place that was touched since an earlier version; `length` when none was. */
  since(version: number, length: number): number {
    if (version === this.#version) return length
    if (version < (this.#changes[0]?.version ?? 0) - 1) return 0
    let first = length
    for (let index = this.#changes.length - 1; index >= 0; index--) {
      const change = this.#changes[index]
      if (change === undefined || change.version <= version) break
      first = Math.min(first, change.from)
    }
    return first
  }

  listen(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
