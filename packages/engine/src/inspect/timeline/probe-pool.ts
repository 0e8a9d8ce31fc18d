import type { ProbeProcess } from '../probe-process.js'
import { residentBytes } from './resident-bytes.js'
import { Runner } from './runner.js'
import { errors } from '../../errors.js'

/** All processes of a timeline. None of them outlives the controller. */
export class ProbePool {
  readonly #spawn: () => ProbeProcess
  readonly #live = new Set<Runner>()
  readonly #dying = new Set<Runner>()
  #isClosed = false

  constructor(spawn: () => ProbeProcess) {
    this.#spawn = spawn
    // For a controller that ends without closing. When one is killed, its pipes close,
    // and the processes end by themselves.
    process.on('exit', this.#killAll)
  }

  /** Those that were ended a moment ago still take room: wait for `endings` first. */
  start(): Runner {
    if (this.#isClosed) throw errors.TIMELINE_CLOSED()
    const runner = new Runner(this.#spawn)
    this.#live.add(runner)
    void this.#forgetWhenGone(runner)
    return runner
  }

  end(runner: Runner): void {
    if (!this.#live.has(runner)) return
    this.#dying.add(runner)
    runner.kill()
  }

  /** It was ended from here. */
  isEnding(runner: Runner): boolean {
    return this.#dying.has(runner) || this.#isClosed
  }

  /** Resolves when all that were ended are gone. */
  async endings(): Promise<void> {
    await Promise.all([...this.#dying].map(({ gone }) => gone))
  }

  get count(): number {
    return this.#live.size - this.#dying.size
  }

  /** Memory of each process, in bytes. */
  async sizes(): Promise<readonly number[]> {
    await this.endings()
    return [...(await residentBytes([...this.#live].map(({ pid }) => pid))).values()]
  }

  /** Resolves when all are gone. */
  async close(): Promise<void> {
    this.#isClosed = true
    const all = [...this.#live]
    this.#killAll()
    await Promise.all(all.map(({ gone }) => gone))
    process.off('exit', this.#killAll)
  }

  async #forgetWhenGone(runner: Runner): Promise<void> {
    await runner.gone
    this.#live.delete(runner)
    this.#dying.delete(runner)
  }

  readonly #killAll = (): void => {
    for (const runner of this.#live) runner.kill()
  }
}
