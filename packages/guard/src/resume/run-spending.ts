import {
  GUARD_NOTES,
  type CallUsage,
  type GuardFacts,
  type GuardIntent,
  type SpentNote,
  type Tape,
} from '@retake/tape/format'
import { type Operation, outsideRuns, type Session } from '@retake/engine/hook'
import { addCallUsage, NOTHING, sum, toUsage, type Amount } from '../limits/amount.js'
import type { Limiter } from '../limits/limiter.js'
import type { Spent } from '../limits/spent.js'
import type { EarlierRuns } from './earlier-runs.js'
import { SpendingOnTape } from './spending-on-tape.js'

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
