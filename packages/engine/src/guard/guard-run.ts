import path from 'node:path'
import {
  encodeBody,
  GUARD_NOTES,
  recordError,
  SavingsTally,
  toWire,
  type CallUsage,
  type GuardFacts,
  type GuardIntent,
  type GuardOpened,
  type GuardSavings,
  type LeftOpenNote,
  type ResumedRun,
} from '@retake/tape'
import { install } from '../boundaries/install.js'
import type { RecordedRun } from '../record.js'
import { currentSession, outsideRuns, toolOwner } from '../scope.js'
import type { Session } from '../sessions/session.js'
import type { StandardSchema } from './contract/contract.js'
import { checkToolOptions } from './check-options.js'
import { GuardError, type Denial } from './guard-error.js'
import { guardErrors } from './guard-errors.js'
import { GuardedCall } from './guarded-call.js'
import type { GuardedTool, GuardedToolOptions, ToolFunction } from './guarded-tool.js'
import type { GuardOptions } from './guard.js'
import type { GuardResult } from './guard-result.js'
import { Limiter } from './limits/limiter.js'
import { CallCounters } from './resume/call-counters.js'
import { callKey, nestedCallsOn } from './resume/call-ledger.js'
import type { EarlierCall, EarlierCalls } from './resume/earlier-calls.js'
import { EarlierRuns, settleDoubt } from './resume/earlier-runs.js'
import { enclosingCall } from './resume/enclosing-call.js'
import { environment } from './resume/environment.js'
import { releaseAtExit } from './resume/exit.js'
import {
  decideDoubt,
  describeDoubt,
  type CallInDoubt,
  type InDoubtDecision,
} from './resume/in-doubt.js'
import { NestedSession } from './resume/nested-session.js'
import { OwnTape } from './resume/own-tape.js'
import { resumeErrors } from './resume/resume-errors.js'
import { CallHistory } from './policy/call-history.js'
import { CompiledPolicy } from './policy/compiled-policy.js'

export interface CallOptions {
  /** Throws `result.error` where there is one, instead of returning it. */
  readonly throws?: boolean
  readonly signal?: AbortSignal
}

/** A guard's own tape, finished. */
export interface EndedGuard extends RecordedRun {
  /** Calls of resumed runs that are still in doubt: nobody decided about them. */
  readonly inDoubt: readonly CallInDoubt[]
}

/** A guard at work: its tools, and what was called so far. Made by `guard()`. */
export class GuardRun {
  readonly name: string
  readonly policy: CompiledPolicy
  readonly history: CallHistory
  readonly limiter: Limiter
  readonly #tools = new Map<string, GuardedTool>()
  readonly #counters = new CallCounters()
  readonly #savings = new SavingsTally()
  readonly #introduced = new WeakSet<Session>()
  #earlier: EarlierRuns | undefined
  /** Calls inside calls, on the tape that a session goes on with. */
  #nested: EarlierCalls | undefined
  #hasFollowed = false
  #isResumed = false
  #isEnded = false
  #own: OwnTape | undefined

  constructor(readonly options: GuardOptions) {
    install()
    this.name = options.name
    const { policy = [] } = options
    this.policy = CompiledPolicy.of(policy)
    this.history = new CallHistory(this.policy)
    this.limiter = new Limiter(
      [options.limits, ...this.policy.policies.map(({ limits }) => limits)].filter(
        (limits) => limits !== undefined,
      ),
    )
    if (currentSession()?.replaying !== true) this.#resume()
  }

  /**
   * Registers a tool, and returns it as a function that throws what goes wrong. With a
   * Standard Schema as `input` the arguments have its types.
   */
  tool<Input, Args, Output>(
    name: string,
    run: ToolFunction<Args, Output>,
    options: GuardedToolOptions<Args> & { readonly input: StandardSchema<Input, Args> },
  ): (args: Input) => Promise<Output>
  tool<Args, Output>(
    name: string,
    run: ToolFunction<Args, Output>,
    options?: GuardedToolOptions<Args>,
  ): (args: Args) => Promise<Output>
  tool<Args, Output>(
    name: string,
    run: ToolFunction<Args, Output>,
    options: GuardedToolOptions<Args> = {},
  ): (args: Args) => Promise<Output> {
    if (typeof run !== 'function' || typeof name !== 'string')
      throw new GuardError(guardErrors.toolNotFunction(name))
    if (this.#tools.has(name)) throw new GuardError(guardErrors.toolTwice(name))
    checkToolOptions(name, options)
    this.#tools.set(name, {
      name,
      run: run as ToolFunction<unknown, unknown>,
      options: options as GuardedToolOptions<unknown>,
    })
    return async (args) => (await this.call<Output>(name, args, { throws: true })).output as Output
  }

  /**
   * A plain function behind the guard, under its own name unless another is given. It is
   * judged by its argument, or by the list of them where there are more or fewer than one.
   */
  wrap<Args extends unknown[], Output>(
    run: (...args: Args) => Output,
    options: GuardedToolOptions<unknown> & { readonly name?: string } = {},
  ): (...args: Args) => Promise<Awaited<Output>> {
    if (typeof run !== 'function') throw new GuardError(guardErrors.toolNotFunction('run.wrap'))
    const { name = run.name, ...rest } = options
    if (name === '') throw new GuardError(guardErrors.functionWithoutName())
    const call = this.tool(
      name,
      (args: unknown) => (Array.isArray(args) ? run(...(args as Args)) : run(...([args] as Args))),
      rest,
    )
    return (...args) =>
      call(args.length === 1 && !Array.isArray(args[0]) ? args[0] : args) as Promise<
        Awaited<Output>
      >
  }

  /**
   * Verifies a call, then runs it. Never throws unless asked to: the result says what became
   * of it. A tool that is not registered can be handed in as it is, for one call.
   */
  call<Output = unknown>(
    tool: string | GuardedTool,
    args: unknown,
    options: CallOptions = {},
  ): Promise<GuardResult<Output>> {
    const isHandedIn = typeof tool === 'object' && typeof tool?.run === 'function'
    const given: unknown = tool
    const name = isHandedIn ? tool.name : String(given)
    const known = isHandedIn ? tool : this.#tools.get(name)
    const made = new GuardedCall(this, name, known, options).make(args)
    const result = made as Promise<GuardResult<Output>>
    return options.throws === true ? result.then(withoutError) : result
  }

  /** Counts what is spent outside of guarded tools, such as by the model that calls them. */
  spend(usage: CallUsage): void {
    this.limiter.spend(usage)
  }

  /** Whether calls carry their place in the program: finding it costs more than all else of a call in memory. */
  get namesSites(): boolean {
    return this.options.durability !== 'memory'
  }

  get toolNames(): string[] {
    return [...this.#tools.keys()]
  }

  /**
   * Ends the run: the guard's own tape, if it has one, is sealed as complete, or as failed
   * with `error`. Calls made inside a recording are on that one's. Wait for all calls first.
   */
  end(output?: unknown, options: { readonly error?: unknown } = {}): EndedGuard | undefined {
    const inDoubt = this.inDoubt()
    if (!this.#isEnded) {
      this.#isEnded = true
      if (inDoubt.length > 0) this.#keepLeftOpen(inDoubt)
      const { error } = options
      this.#own?.end(error === undefined ? encodeBody(output) : { error: recordError(error) })
      this.#earlier?.release()
    }
    return this.#own && { ...this.#own.run, inDoubt }
  }

  /** Lets go of the tape without an end where the run can be resumed; otherwise like `end()`. */
  [Symbol.dispose](): void {
    if (this.#isEnded) return
    if (!this.options.resume) return void this.end()
    this.#isEnded = true
    this.#own?.abandon()
    this.#earlier?.release()
  }

  [Symbol.asyncDispose](): Promise<void> {
    this[Symbol.dispose]()
    return Promise.resolve()
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

  /** What serving results and stopping early have saved so far. */
  savings(): GuardSavings {
    return this.#savings.total()
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
      this.#own = new OwnTape(this.options, this.#earlier?.dir)
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
    const { limits, durability = 'disk' } = this.options
    const { resumes, policy } = this
    const opened: GuardOpened = {
      guard: this.name,
      policy: { hash: policy.hash, policies: policy.policies.map((each) => toWire(each)) },
      ...(limits && { limits: toWire(limits) }),
      durability,
      environment: environment(),
      ...(resumes.length > 0 && { resumes }),
    }
    run.keep?.(GUARD_NOTES.opened, Buffer.from(JSON.stringify(opened)), false)
  }

  /** A call has its answer, from the tool or from a tape. */
  took(
    tool: string,
    args: unknown,
    intent: GuardIntent,
    facts: GuardFacts,
    output: unknown,
    { error, token }: { readonly error?: unknown; readonly token?: object } = {},
  ): void {
    this.#savings.add({ tool, intent, facts })
    const { status, attempts, served } = facts
    const started = attempts !== 0 || served !== undefined || status === 'in doubt'
    this.history.add({ tool, args, effects: intent.effects, status, output, error, started }, token)
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
    const found = this.#runsFor(session)?.find(this.name, fingerprint, occurrence, within)
    if (found !== undefined || within === undefined || !this.#hasFollowed) return found
    const { recording } = session
    if (this.#nested === undefined && recording !== undefined)
      this.#nested = nestedCallsOn(recording.tape)
    return this.#nested?.find(this.name, fingerprint, occurrence, within)
  }

  decideDoubt(call: EarlierCall, tool: GuardedTool): InDoubtDecision {
    const decision = decideDoubt(call, tool, this.options.inDoubt)
    if (decision !== 'fail') settleDoubt(call)
    return decision
  }

  /** What a tool is told as `idempotencyKey` unless it has its own: the same however often the run is resumed. */
  keyOf(session: Session, fingerprint: string, occurrence: number, within?: string): string {
    const tape = session.recording?.tape
    const run =
      this.#runsFor(session)?.root ?? (tape === undefined ? '' : path.basename(tape, '.tape'))
    return `${run}-${callKey(fingerprint, occurrence, within)}`
  }

  /** Says of a denial that an earlier run was allowed to make the call. */
  explainChange(denial: Denial, earlier: EarlierCall | undefined): Denial {
    const { hash } = this.policy
    if (earlier?.facts?.status !== 'done' || earlier.intent.policy === hash) return denial
    return resumeErrors.policyChanged(denial, earlier.from.run, earlier.intent.policy, hash)
  }

  /** A call inside one of another guard is on the tapes of that one's runs. */
  #runsFor({ owner }: Session): EarlierRuns | undefined {
    return (owner && EarlierRuns.of(owner)) ?? this.#earlier
  }

  /** Not where a tape answers: it has the results that were served, too. */
  #resume(): void {
    const { resume, dir, name } = this.options
    if (this.#isResumed || resume === undefined || resume === false) return
    this.#isResumed = true
    const folder = path.resolve(dir ?? path.join('.retake', 'runs'))
    this.#earlier = outsideRuns(() => EarlierRuns.open(folder, name, resume))
    if (this.#earlier !== undefined) releaseAtExit(this.#earlier)
  }

  #keepLeftOpen(inDoubt: readonly CallInDoubt[]): void {
    const calls = inDoubt.map(({ tool, fingerprint, occurrence, from }) => ({
      tool,
      fingerprint,
      occurrence,
      from,
    }))
    const note: LeftOpenNote = { guard: this.name, calls }
    const session = this.#own?.session ?? currentSession()
    session?.keep?.(GUARD_NOTES.leftOpen, Buffer.from(JSON.stringify(note)), false)
  }
}

function withoutError<Output>(result: GuardResult<Output>): GuardResult<Output> {
  // A tool may throw nothing at all, and has failed then, too.
  if (result.error !== undefined || result.status === 'failed') throw result.error
  return result
}
