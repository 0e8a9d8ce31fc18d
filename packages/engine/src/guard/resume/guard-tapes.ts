import path from 'node:path'
import {
  GUARD_NOTES,
  toWire,
  type CallUsage,
  type GuardIntent,
  type GuardOpened,
  type LeftOpenNote,
  type ResumedRun,
  type SpentNote,
  type Tape,
} from '@retake/tape'
import type { RecordedRun } from '../../record.js'
import { currentSession, outsideRuns, toolOwner } from '../../scope.js'
import type { RunEnd } from '../../sessions/record-session.js'
import type { Operation, Session } from '../../sessions/session.js'
import type { Denial } from '../guard-error.js'
import type { GuardOptions } from '../guard.js'
import type { GuardedTool } from '../guarded-tool.js'
import { addUsage, amountOf, NOTHING, sum, toUsage, type Amount } from '../limits/amount.js'
import type { Limiter } from '../limits/limiter.js'
import type { Spent } from '../limits/spent.js'
import type { CompiledPolicy } from '../policy/compiled-policy.js'
import { CallCounters } from './call-counters.js'
import { callKey, nestedCallsOn } from './call-ledger.js'
import type { EarlierCall, EarlierCalls } from './earlier-calls.js'
import { EarlierRuns, settleDoubt } from './earlier-runs.js'
import { enclosingCall } from './enclosing-call.js'
import { environment } from './environment.js'
import { releaseAtExit } from './exit.js'
import { decideDoubt, describeDoubt, type CallInDoubt, type InDoubtDecision } from './in-doubt.js'
import { NestedSession } from './nested-session.js'
import { OwnTape } from './own-tape.js'
import { resumeErrors } from './resume-errors.js'
import { SpendingOnTape } from './spending-on-tape.js'

/** A guard's own tape, finished. */
export interface EndedGuard extends RecordedRun {
  /** Calls of resumed runs that are still in doubt: nobody decided about them. */
  readonly inDoubt: readonly CallInDoubt[]
}

/** The guards, by name, that have counted what a run had spent before it went on. */
const restored = new WeakMap<Session, Set<string>>()

/**
 * The tapes of a guard at work: the one its calls go on, and those of the runs it goes
 * on from. Knows each call by its number, its fingerprint and its occurrence.
 */
export class GuardTapes {
  readonly #options: GuardOptions
  readonly #policy: CompiledPolicy
  readonly #limiter: Limiter
  readonly #counters = new CallCounters()
  readonly #introduced = new WeakSet<Session>()
  #earlier: EarlierRuns | undefined
  /** Calls inside calls, on the tape that a session goes on with. */
  #nested: EarlierCalls | undefined
  #hasFollowed = false
  #isResumed = false
  #isEnded = false
  #own: OwnTape | undefined
  #spending: { readonly of: Tape; readonly read: SpendingOnTape } | undefined
  #named: { readonly tape: string | undefined; readonly run: string } | undefined

  constructor(options: GuardOptions, policy: CompiledPolicy, limiter: Limiter) {
    this.#options = options
    this.#policy = policy
    this.#limiter = limiter
    if (currentSession()?.replaying !== true) this.#resume()
  }

  /** Seals the guard's own tape, if it has one. `outcome` is asked for only then. */
  end(outcome: () => RunEnd): EndedGuard | undefined {
    const inDoubt = this.inDoubt()
    if (!this.#isEnded) {
      this.#isEnded = true
      if (inDoubt.length > 0) this.#keepLeftOpen(inDoubt)
      this.#own?.end(outcome())
      this.#earlier?.release()
    }
    return this.#own && { ...this.#own.run, inDoubt }
  }

  /** Lets go of everything, so that the run can be resumed. */
  abandon(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#own?.abandon()
    this.#earlier?.release()
  }

  /** It has ended, and there is no other tape for calls made here. */
  get isOver(): boolean {
    return this.#isEnded && currentSession() === undefined
  }

  /** Calls that were under way when the resumed run was stopped, and about which nothing was decided since. */
  inDoubt(): readonly CallInDoubt[] {
    return this.#earlier?.openDoubts().map(describeDoubt) ?? []
  }

  /** The runs whose results are served, the latest first. */
  get resumes(): readonly ResumedRun[] {
    return this.#earlier?.resumes ?? []
  }

  /** The run that calls made here belong to: the recording around them, or the guard's own. */
  session(): Session {
    const around = currentSession()
    if (around !== undefined) return around
    const owner = toolOwner()
    if (owner !== undefined && !owner.closed)
      return new NestedSession(owner, enclosingCall() ?? 'tool')
    this.#resume()
    if (this.#own === undefined) {
      this.#own = new OwnTape(this.#options, this.#earlier?.dir)
      this.#earlier?.resumeIn(this.#own.session)
    }
    return this.#own.session
  }

  /** Says on the tape, once, under which policy and where this guard works. */
  introduce(session: Session): void {
    const run = session.owner ?? session
    this.#resume()
    if (run.recording === undefined || this.#introduced.has(run)) return
    this.#introduced.add(run)
    const { name, limits, durability = 'disk' } = this.#options
    const { hash, policies } = this.#policy
    const { resumes } = this
    const opened: GuardOpened = {
      guard: name,
      policy: { hash, policies: policies.map((each) => toWire(each)) },
      ...(limits && { limits: toWire(limits) }),
      durability,
      environment: environment(),
      ...(resumes.length > 0 && { resumes }),
    }
    run.keep?.(GUARD_NOTES.opened, Buffer.from(JSON.stringify(opened)), false)
    this.#restore(run, session !== run)
  }

  /** Puts on the tape what was spent beside the results of calls. Not where a tape answers: it is there. */
  keepSpent(usage: CallUsage): void {
    if (this.isOver || toUsage(amountOf(usage)) === undefined) return
    const isSaidAgain = currentSession() !== undefined
    const session = this.session()
    if (session.replaying) return
    outsideRuns(() => {
      this.introduce(session)
      this.#note(session, {
        usage: addUsage(undefined, usage),
        ...(isSaidAgain && { isSaidAgain: true as const }),
      })
    })
  }

  /** The same of one call: of an attempt before the next one, or of a tool that its call has not waited for. */
  keepSpentBy(operation: Operation, tool: string, amount: Amount): void {
    const usage = toUsage(amount)
    if (usage === undefined) return
    const { session, id: op } = operation
    outsideRuns(() => this.#note(session, { usage, tool, op }))
  }

  /** A call that stands on the tape is made again by the same run: what it has cost so far stays spent. */
  countAgain(session: Session, op: number): CallUsage | undefined {
    const { continues } = session.recording ?? {}
    if (continues?.isResume !== true || op >= continues.at) return undefined
    const found = this.#spendingOn(continues.tape).ofCall(op)
    if (found === undefined) return undefined
    this.#limiter.restore([found.last])
    return toUsage(sum(found.last.amount, found.attempts))
  }

  /** A tape has decided about a call: those that follow are numbered on from it. */
  follow(intent: GuardIntent): void {
    this.#hasFollowed = true
    this.#counters.follow(intent)
  }

  nextCall(): number {
    return this.#counters.nextCall()
  }

  nextOccurrence(fingerprint: string, within?: string): number {
    return this.#counters.nextOccurrence(fingerprint, within)
  }

  /** The same call as an earlier run made it. */
  findEarlier(
    session: Session,
    fingerprint: string,
    occurrence: number,
    within: string | undefined,
  ): EarlierCall | undefined {
    const found = this.#runsFor(session)?.find(this.#options.name, fingerprint, occurrence, within)
    if (found !== undefined || within === undefined || !this.#hasFollowed) return found
    const { recording } = session
    if (this.#nested === undefined && recording !== undefined)
      this.#nested = nestedCallsOn(recording.tape)
    return this.#nested?.find(this.#options.name, fingerprint, occurrence, within)
  }

  decideDoubt(call: EarlierCall, tool: GuardedTool): InDoubtDecision {
    const decision = decideDoubt(call, tool, this.#options.inDoubt)
    if (decision !== 'fail') settleDoubt(call)
    return decision
  }

  /** What a tool is told as `idempotencyKey` unless it has its own: the same however often the run is resumed. */
  keyOf(session: Session, fingerprint: string, occurrence: number, within?: string): string {
    const run = this.#runsFor(session)?.root ?? this.#runOn(session.recording?.tape)
    return `${run}-${callKey(fingerprint, occurrence, within)}`
  }

  /** Name of the run on a tape, which is nearly always the same one. */
  #runOn(tape: string | undefined): string {
    if (this.#named?.tape !== tape)
      this.#named = { tape, run: tape === undefined ? '' : path.basename(tape, '.tape') }
    return this.#named?.run ?? ''
  }

  /** Says of a denial that an earlier run was allowed to make the call. */
  explainChange(denial: Denial, earlier: EarlierCall | undefined): Denial {
    const { hash } = this.#policy
    if (earlier?.facts?.status !== 'done' || earlier.intent.policy === hash) return denial
    return resumeErrors.policyChanged(denial, earlier.from.run, earlier.intent.policy, hash)
  }

  /** A call inside one of another guard is on the tapes of that one's runs. */
  #runsFor({ owner }: Session): EarlierRuns | undefined {
    return (owner && EarlierRuns.of(owner)) ?? this.#earlier
  }

  /** Not where a tape answers: it has the results that were served, too. */
  #resume(): void {
    const { resume, dir, name } = this.#options
    if (this.#isResumed || resume === undefined || resume === false) return
    this.#isResumed = true
    const folder = path.resolve(dir ?? path.join('.retake', 'runs'))
    this.#earlier = outsideRuns(() => EarlierRuns.open(folder, name, resume))
    if (this.#earlier === undefined) return
    releaseAtExit(this.#earlier)
    this.#limiter.restore(this.#earlier.spentBy(name))
  }

  /** What was spent before, of which the calls that this run serves do not tell. */
  #restore(run: Session, isNested: boolean): void {
    const { name } = this.#options
    const around = EarlierRuns.of(run)
    if (around !== undefined && around !== this.#earlier)
      this.#limiter.restore(around.spentBy(name))
    const { continues } = run.recording ?? {}
    if (continues === undefined) return
    const { tape, at, isResume } = continues
    // Another guard of this name, made after the run went on, has not spent it.
    if (!isResume && !isNested && !this.#hasFollowed) return
    const names = restored.get(run) ?? new Set()
    restored.set(run, names)
    if (names.has(name)) return
    names.add(name)
    const spending = this.#spendingOn(tape)
    this.#limiter.restore(spending.unseenBefore(at))
    if (!isResume) return
    const later = spending.from(at)
    this.#limiter.restore(later)
    // A branch goes on from an earlier point: it would not know of what its parent spent after that.
    if (run.recording?.tape !== tape.path) this.#keepLater(run, later)
  }

  #keepLater(run: Session, later: readonly Spent[]): void {
    const tools = new Map<string | undefined, Amount>()
    for (const { tool, amount } of later) tools.set(tool, sum(tools.get(tool) ?? NOTHING, amount))
    for (const [tool, amount] of tools)
      this.#note(run, { usage: toUsage(amount) ?? {}, ...(tool !== undefined && { tool }) })
  }

  #spendingOn(tape: Tape): SpendingOnTape {
    if (this.#spending?.of !== tape)
      this.#spending = { of: tape, read: new SpendingOnTape(tape, this.#options.name) }
    return this.#spending.read
  }

  #note(session: Session, spent: Omit<SpentNote, 'guard'>): void {
    const note: SpentNote = { guard: this.#options.name, ...spent }
    session.keep?.(GUARD_NOTES.spent, Buffer.from(JSON.stringify(note)))
  }

  #keepLeftOpen(inDoubt: readonly CallInDoubt[]): void {
    const calls = inDoubt.map(({ tool, fingerprint, occurrence, from }) => ({
      tool,
      fingerprint,
      occurrence,
      from,
    }))
    const note: LeftOpenNote = { guard: this.#options.name, calls }
    const session = this.#own?.session ?? currentSession()
    session?.keep?.(GUARD_NOTES.leftOpen, Buffer.from(JSON.stringify(note)), false)
  }
}
