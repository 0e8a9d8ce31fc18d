import { statSync } from 'node:fs'

/** Tells whether files were saved, replaced or removed since it was made. Reads no content. */
export class FileStamps {
  readonly #stamps: ReadonlyMap<string, string>

  constructor(files: readonly string[]) {
    this.#stamps = new Map(files.map((file) => [file, stampOf(file)]))
  }

  areOld(): boolean {
    return [...this.#stamps].some(([file, stamp]) => stampOf(file) !== stamp)
  }
}

function stampOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false })
  return found === undefined ? 'gone' : `${found.ino} ${found.size} ${found.mtimeMs}`
}
