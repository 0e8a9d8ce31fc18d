import type { HomeChange } from '../../api/home.js'
import type { RunHead } from '../../model/run-head.js'
import { HomeError } from './home-error.js'

type Seen = Pick<RunHead, 'events' | 'status' | 'startedAt'>

/** Runs that a page remembers: the others are not on it any more. */
const SEEN_MAX = 8

/** How runs were when the page asked about them last, to find out what it has missed. */
export class SeenRuns {
  /** Least recently asked for first. */
  readonly #seen = new Map<string, Seen>()

  note(run: string, { events, status, startedAt }: RunHead): void {
    this.#seen.delete(run)
    this.#seen.set(run, { events, status, startedAt })
    if (this.#seen.size > SEEN_MAX) this.#seen.delete([...this.#seen.keys()][0] ?? '')
  }

  forget(run: string): void {
    this.#seen.delete(run)
  }

  /** Asks about each again and tells those that are different, or all of them. Also those that are gone. */
  async tellChanged(
    ask: (run: string) => Promise<RunHead>,
    tell: (change: HomeChange) => void,
    all: boolean,
  ): Promise<void> {
    // Who is told asks again, which changes the order.
    const seen = Array.from(this.#seen)
    for (const [run, before] of seen) {
      try {
        const { events, status, startedAt } = await ask(run)
        const isSame =
          events === before.events &&
          status === before.status &&
          // Another run can be recorded under the same name.
          startedAt === before.startedAt
        if (all || !isSame) tell({ type: 'grew', run, events, status })
      } catch (error) {
        if (!(error instanceof HomeError) || error.status !== 404) throw error
        this.forget(run)
        tell({ type: 'gone', run })
      }
    }
  }
}
