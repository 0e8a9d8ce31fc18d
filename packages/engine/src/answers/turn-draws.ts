import { seededRandom } from './seeded-random.js'
import { standInFor } from './stand-in-value.js'

type Queues = Map<string, unknown[]>

/**
 * The values that were drawn in a recording, by the turn they were drawn in: the
 * time between one delivery and the next. When deliveries come in another order,
 * each lane so keeps its own ids and times.
 *
 * A turn that asks for more than it did then goes on with what other turns left
 * over, the one that was last in the recording first: what follows a join is done
 * in the turn of whichever lane comes last.
 */
export class TurnDraws {
  readonly #byTurn = new Map<number, Queues>()
  /** Turns that are over and have not drawn all they had, in recorded order, by kind. */
  readonly #leftOver = new Map<string, number[]>()
  readonly #last = new Map<string, unknown>()
  #turn: number
  #made = 0

  constructor(
    readonly firstTurn: number,
    readonly seed: number,
  ) {
    this.#turn = firstTurn
  }

  /** Notes a recorded value. */
  add(turn: number, kind: string, value: unknown): void {
    const queues = this.#byTurn.get(turn) ?? new Map<string, unknown[]>()
    this.#byTurn.set(turn, queues)
    const queue = queues.get(kind)
    if (queue === undefined) queues.set(kind, [value])
    else queue.push(value)
    if (!this.#last.has(kind)) this.#last.set(kind, value)
  }

  /** The agent is about to do what it did after this delivery. */
  begin(turn: number): void {
    for (const [kind, queue] of this.#byTurn.get(this.#turn) ?? []) {
      if (queue.length === 0) continue
      const turns = this.#leftOver.get(kind) ?? []
      if (turns.includes(this.#turn)) continue
      turns.push(this.#turn)
      this.#leftOver.set(
        kind,
        turns.toSorted((a, b) => a - b),
      )
    }
    this.#turn = turn
  }

  take(kind: string, native: () => unknown): unknown {
    const own = this.#byTurn.get(this.#turn)?.get(kind)
    const value =
      own !== undefined && own.length > 0 ? own.shift() : this.#takeLeftOver(kind, native)
    this.#last.set(kind, value)
    return value
  }

  #takeLeftOver(kind: string, native: () => unknown): unknown {
    const turns = this.#leftOver.get(kind) ?? []
    while (turns.length > 0) {
      const queue = this.#byTurn.get(turns.at(-1) as number)?.get(kind)
      if (queue !== undefined && queue.length > 0) return queue.shift()
      turns.pop()
    }
    this.#made += 1
    const random = seededRandom(`${this.seed} ${this.#turn} ${this.#made}`)
    return standInFor(kind, { last: this.#last.get(kind), random, native })
  }
}
