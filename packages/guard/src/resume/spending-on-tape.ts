import {
  type CallUsage,
  GUARD_NOTES,
  type GuardedCallOnTape,
  type GuardFacts,
  type GuardIntent,
  type GuardsOnTape,
  readGuards,
  type SpentNote,
  type Tape,
} from '@retake/tape/format'
import {
  addCallUsage,
  type Amount,
  amountOf,
  countedFor,
  NOTHING,
  overuseOf,
  type Spent,
  sum,
  toUsage,
} from '../limits/amount.js'
import { type Operation, outsideRuns, type Session } from '@retake/engine/hook'
import type { Limiter } from '../limits/limiter.js'
import type { EarlierRuns } from './earlier-runs.js'

/** The guards, by name, that have counted what a run had spent before it went on. */
const restored = new WeakMap<Session, Set<string>>()

/**
 * Spending of a guard over all runs that continue one another: puts on the tape
 * what results do not tell, and hands its limits what was spent before.
 */
export class RunSpending {
  /** Calls of which the tape tells what they cost, and that were counted. */
  readonly #counted = new WeakMap<Session, Set<number>>()
  #read: { readonly of: Tape; readonly spending: SpendingOnTape } | undefined

  constructor(
    readonly guard: string,
    readonly limiter: Limiter,
  ) {}

  /** The runs that are resumed: what is served from them costs nothing anew. */
  restore(runs: EarlierRuns | undefined): void {
    if (runs !== undefined) this.limiter.restore(runs.spentBy(this.guard))
  }

  /**
   * A recorded run has gone live: counts what it had spent before, and of which the calls that
   * are served do not tell. A guard that has not `begun` before spent nothing, unless the
   * run is resumed: then somebody of its name did.
   */
  goOn(run: Session, hasBegun: boolean): void {
    const { continues, tape: own } = run.recording ?? {}
    if (continues === undefined || !(hasBegun || continues.isResume)) return
    const names = restored.get(run) ?? new Set()
    restored.set(run, names)
    if (names.has(this.guard)) return
    names.add(this.guard)
    const { tape, at, isResume } = continues
    const spending = this.#on(tape)
    this.limiter.restore(spending.unseenBefore(at))
    if (!isResume) return
    // Before the first of them is made again: what the others have cost is spent by then, too.
    for (const [op, spent] of spending.underWayAt(at))
      if (this.#count(run, op)) this.limiter.restore([spent])
    const later = spending.from(at)
    this.limiter.restore(later)
    // A branch goes on from an earlier point: it would not know of what its parent spent after that.
    if (own !== tape.path) this.#recordLater(run, later)
  }

  /** The cost so far of a call that the same run repeats: it remains spent. */
  before(session: Session, op: number): CallUsage | undefined {
    const { continues } = session.recording ?? {}
    if (continues?.isResume !== true || op >= continues.at) return undefined
    const found = this.#on(continues.tape).ofCall(op)
    return found && toUsage(sum(found.last.amount, found.attempts))
  }

  /** A call that a tape has answered. */
  absorb(session: Session, op: number, tool: string, intent: GuardIntent, facts: GuardFacts): void {
    if (intent.verdict !== 'deny')
      this.limiter.absorb(tool, intent, facts, !this.#count(session, op))
  }

  /** True if the cost of a call was not counted before; marks it as counted. */
  #count(run: Session, op: number): boolean {
    const calls = this.#counted.get(run) ?? new Set()
    this.#counted.set(run, calls)
    const isNew = op < 0 || !calls.has(op)
    calls.add(op)
    return isNew
  }

  /** Spent beside the tools. `isSaidAgain`: a run that goes on from this one hears it again. */
  keep(session: Session, usage: CallUsage, isSaidAgain: boolean): void {
    const said = addCallUsage(undefined, usage)
    this.#note(session, isSaidAgain ? { usage: said, isSaidAgain } : { usage: said })
  }

  /** Spent by an attempt of a call before the next one, or by a tool that its call has not waited for. */
  recordFor({ session, id: op }: Operation, tool: string, amount: Amount): void {
    const usage = toUsage(amount)
    if (usage !== undefined) outsideRuns(() => this.#note(session, { usage, tool, op }))
  }

  #recordLater(run: Session, later: readonly Spent[]): void {
    const tools = new Map<string | undefined, Amount>()
    for (const { tool, amount } of later) tools.set(tool, sum(tools.get(tool) ?? NOTHING, amount))
    for (const [tool, amount] of tools) {
      const usage = toUsage(amount)
      if (usage) this.#note(run, { usage, ...(tool !== undefined && { tool }) })
    }
  }

  #note(session: Session, spent: Omit<SpentNote, 'guard'>): void {
    const note: SpentNote = { guard: this.guard, ...spent }
    session.keep?.(GUARD_NOTES.spent, Buffer.from(JSON.stringify(note)))
  }

  #on(tape: Tape): SpendingOnTape {
    if (this.#read?.of !== tape)
      this.#read = { of: tape, spending: new SpendingOnTape(tape, this.guard) }
    return this.#read.spending
  }
}

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
