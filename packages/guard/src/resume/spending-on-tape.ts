import {
  readGuards,
  type GuardedCallOnTape,
  type GuardsOnTape,
  type Tape,
} from '@retake/tape/format'
import { amountOf, NOTHING, sum, type Amount } from '../limits/amount.js'
import { countedFor, overuseOf, type Spent } from '../limits/spent.js'

/**
 * Spending of a guard according to a tape, as its limits counted it. A call without a
 * result counts with all that was reserved for it. Tapes of before this was written down
 * tell nothing of `run.spend`, and of several attempts the most that they may have used.
 */
export class SpendingOnTape {
  readonly #tape: Tape
  readonly #guard: string
  readonly #read: GuardsOnTape
  /** It was gone on with on the same tape: its clock stood still in between. */
  readonly #hasGap: boolean

  constructor(tape: Tape, guard: string) {
    this.#tape = tape
    this.#guard = guard
    this.#read = readGuards(tape)
    this.#hasGap = this.#read.guards.filter((each) => each.guard === guard).length > 1
  }

  /** Everything. `until`: when the run was over at the latest, where that is known. */
  all(until?: number): readonly Spent[] {
    return [...this.#ofCalls(() => true, until), ...this.#ofNotes(() => true)]
  }

  /**
   * Spending that the answers served up to event `at` do not show: calls that tools
   * made, and what was spent beside results.
   */
  unseenBefore(at: number): readonly Spent[] {
    return [
      ...this.#ofCalls(({ isNested, callSeq }) => isNested && callSeq < at),
      ...this.#ofNotes(({ seq, isSaidAgain }) => seq < at && isSaidAgain !== true),
    ]
  }

  /** Calls of the agent that had no answer by then, with what they count for, by the event that started them. */
  underWayAt(at: number): ReadonlyMap<number, Spent> {
    const open = this.#read.calls.filter(
      ({ isNested, callSeq, resultSeq = Infinity }) => !isNested && callSeq < at && resultSeq >= at,
    )
    const found = open.map(({ callSeq }) => [callSeq, this.ofCall(callSeq)?.last] as const)
    return new Map(found.flatMap(([op, last]) => (last === undefined ? [] : [[op, last]])))
  }

  /** Spending after that event, which is not served: calls that were begun there, and notes beside results. */
  from(at: number): readonly Spent[] {
    return [
      ...this.#ofCalls(({ callSeq }) => callSeq >= at),
      ...this.#ofNotes(({ seq }) => seq >= at),
    ]
  }

  /** The amount that a repeated call counts for; `attempts` come from notes, if it has no result. */
  ofCall(op: number): { readonly last: Spent; readonly attempts: Amount } | undefined {
    const [last] = this.#ofCalls(({ callSeq }) => callSeq === op)
    const isOpen = this.#read.calls.some(({ callSeq, facts }) => callSeq === op && !facts)
    const notes = isOpen ? this.#read.spent.filter((note) => note.op === op) : []
    const attempts = notes.map(({ usage }) => amountOf(usage)).reduce(sum, NOTHING)
    return last && { last, attempts }
  }

  #ofCalls(isMeant: (call: GuardedCallOnTape) => boolean, until?: number): Spent[] {
    const spent: Spent[] = []
    for (const call of this.#read.calls) {
      const { intent, facts, tool } = call
      if (intent.guard !== this.#guard || !isMeant(call) || !wasStarted(call)) continue
      const { overused } = facts ?? {}
      spent.push({
        tool,
        amount: countedFor(intent, facts),
        // Nobody knows when a call without a result was over: with its run at the latest.
        at: facts === undefined ? until : this.#dateOf(call.at + (call.latencyMs ?? 0)),
        ...(overused && { most: overuseOf(intent.reserved, overused) }),
      })
    }
    return spent
  }

  #ofNotes(isMeant: (note: GuardsOnTape['spent'][number]) => boolean): Spent[] {
    return this.#read.spent
      .filter((note) => note.guard === this.#guard && isMeant(note))
      .map(({ tool, usage, at }) => ({ tool, amount: amountOf(usage), at: this.#dateOf(at) }))
  }

  #dateOf(at: number): number | undefined {
    return this.#hasGap ? undefined : this.#tape.run.startedAt + at
  }
}

/** True if its tool was started, or may have been. */
const wasStarted = ({ facts, state }: GuardedCallOnTape): boolean =>
  facts === undefined ? state === 'in doubt' : facts.attempts !== 0 && facts.served === undefined
