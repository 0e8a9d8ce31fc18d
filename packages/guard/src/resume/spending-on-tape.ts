import {
  type CallUsage,
  type GuardedCallOnTape,
  type GuardFacts,
  type GuardIntent,
  type GuardNotes,
  type GuardsOnTape,
  readGuards,
} from '@retake/tape/guards'
import type { Tape } from '@retake/tape/format'
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
import { attachNote } from './nested-session.js'

/** Names of guards that have already counted the earlier spending of a run. */
const restored = new WeakMap<Session, Set<string>>()

/** Spending of a guard over runs that continue each other. Records spending that results do not show. */
export class RunSpending {
  /** Calls whose recorded cost was counted. */
  readonly #counted = new WeakMap<Session, Set<number>>()
  #read: { readonly of: Tape; readonly spending: SpendingOnTape } | undefined

  constructor(
    readonly guard: string,
    readonly limiter: Limiter,
  ) {}

  restore(runs: EarlierRuns | undefined): void {
    if (runs !== undefined) this.limiter.restore(runs.spentBy(this.guard))
  }

  /**
   * Counts the earlier spending of a run that goes live, except that of served calls. A guard that
   * has not begun before has spent nothing, unless the run is resumed.
   */
  continue(run: Session, hasBegun: boolean): void {
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
    // Count all of them before the first one is made again.
    for (const [op, spent] of spending.underWayAt(at))
      if (this.#count(run, op)) this.limiter.restore([spent])
    const later = spending.from(at)
    this.limiter.restore(later)
    // The tape of a branch lacks the later spending of its parent.
    if (own !== tape.path) {
      const tools = new Map<string | undefined, Amount>()
      for (const { tool, amount } of later) tools.set(tool, sum(tools.get(tool) ?? NOTHING, amount))
      for (const [tool, amount] of tools) {
        const usage = toUsage(amount)
        if (usage) this.#note(run, { usage, ...(tool !== undefined && { tool }) })
      }
    }
  }

  /** The earlier cost of a call that the same run repeats. */
  before(session: Session, op: number): CallUsage | undefined {
    const { continues } = session.recording ?? {}
    if (continues?.isResume !== true || op >= continues.at) return undefined
    const found = this.#on(continues.tape).ofCall(op)
    return found && toUsage(sum(found.last.amount, found.attempts))
  }

  /** Counts a call that was served from a tape. */
  absorb(session: Session, op: number, tool: string, intent: GuardIntent, facts: GuardFacts): void {
    if (intent.verdict !== 'deny')
      this.limiter.absorb(tool, intent, facts, !this.#count(session, op))
  }

  /** Marks the cost of a call as counted. False if it was counted before. */
  #count(run: Session, op: number): boolean {
    const calls = this.#counted.get(run) ?? new Set()
    this.#counted.set(run, calls)
    const isNew = op < 0 || !calls.has(op)
    calls.add(op)
    return isNew
  }

  /** Records spending outside of tools. `isRepeated`: a run that continues this one reports it too. */
  record(session: Session, usage: CallUsage, isRepeated: boolean): void {
    const said = addCallUsage(undefined, usage)
    this.#note(session, isRepeated ? { usage: said, isSaidAgain: true } : { usage: said })
  }

  /** Records spending of an attempt before a retry, or of a tool after its call. */
  recordFor({ session, id: op }: Operation, tool: string, amount: Amount): void {
    const usage = toUsage(amount)
    if (usage !== undefined) outsideRuns(() => this.#note(session, { usage, tool, op }))
  }

  #note(session: Session, spent: Omit<GuardNotes['spent'], 'guard'>): void {
    attachNote(session, 'spent', { guard: this.guard, ...spent })
  }

  #on(tape: Tape): SpendingOnTape {
    if (this.#read?.of !== tape)
      this.#read = { of: tape, spending: new SpendingOnTape(tape, this.guard) }
    return this.#read.spending
  }
}

/**
 * Spending of a guard on a tape, as its limits counted it. A call without a result counts with its
 * reservation. Old tapes lack `run.spend`, and several attempts count with their maximum usage.
 */
export class SpendingOnTape {
  readonly #tape: Tape
  readonly #guard: string
  readonly #read: GuardsOnTape
  /** True if the run was continued on the same tape, so that times are unknown. */
  readonly #hasGap: boolean

  constructor(tape: Tape, guard: string) {
    this.#tape = tape
    this.#guard = guard
    this.#read = readGuards(tape)
    this.#hasGap = this.#read.guards.filter((each) => each.guard === guard).length > 1
  }

  /** `until` is the latest possible end of the run, if known. */
  all(until?: number): readonly Spent[] {
    return [...this.#ofCalls(() => true, until), ...this.#ofNotes(() => true)]
  }

  /** Spending before event `at` that results do not show: nested calls and notes. */
  unseenBefore(at: number): readonly Spent[] {
    return [
      ...this.#ofCalls(({ isNested, callSeq }) => isNested && callSeq < at),
      ...this.#ofNotes(({ seq, isSaidAgain }) => seq < at && isSaidAgain !== true),
    ]
  }

  /** Spending of the agent's calls that had no result at event `at`, by their first event. */
  underWayAt(at: number): ReadonlyMap<number, Spent> {
    const open = this.#read.calls.filter(
      ({ isNested, callSeq, resultSeq = Infinity }) => !isNested && callSeq < at && resultSeq >= at,
    )
    const found = open.map(({ callSeq }) => [callSeq, this.ofCall(callSeq)?.last] as const)
    return new Map(found.flatMap(([op, last]) => (last === undefined ? [] : [[op, last]])))
  }

  /** Spending from event `at` on, which is not served. */
  from(at: number): readonly Spent[] {
    return [
      ...this.#ofCalls(({ callSeq }) => callSeq >= at),
      ...this.#ofNotes(({ seq }) => seq >= at),
    ]
  }

  /** Spending of a call. `attempts` are earlier attempts, if the call has no result. */
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
      const { intent, facts, tool, state } = call
      if (intent.guard !== this.#guard || !isMeant(call)) continue
      const isServed = facts?.served !== undefined
      const wasStarted = facts === undefined ? state === 'in doubt' : facts.attempts !== 0
      if (isServed || !wasStarted) continue
      const { overused } = facts ?? {}
      spent.push({
        tool,
        amount: countedFor(intent, facts),
        // A call without a result ended no later than its run.
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
