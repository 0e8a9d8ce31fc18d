import { decodeBody, rebuildError } from '@retake/tape/format'
import { factsOf, type GuardFacts, type GuardIntent } from '@retake/tape/guards'
import {
  callSite,
  type Delivery,
  insideTool,
  type Operation,
  outsideRuns,
  type Session,
} from '@retake/engine/hook'
import { CallBounds } from './bounds/call-bounds.js'
import { toolScopes } from './bounds/scopes.js'
import { checkOf } from './enforcement/bounds-check.js'
import {
  argumentsOf,
  type CanonicalCall,
  fingerprintOf,
  identified,
  storableCall,
} from './canonical-call.js'
import { CallExecution } from './execute-call.js'
import { type CheckedInput, checkInput } from './contract/check-input.js'
import { brokenGuard, decideCall, type Decision, deniedIntent, isOutdated } from './decide-call.js'
import { currentBounds } from './bounds/current-bounds.js'
import { type Denial, GuardError, guardErrors } from './denials/guard-error.js'
import type { GuardedTool } from './contract/guarded-tool.js'
import { commit, type GuardResult, type Refusal, resultOf } from './guard-outcome.js'
import { answerKey, isAnswer } from './limits/limiter.js'
import type { Reservation } from './limits/meter.js'
import { attachNote } from './resume/nested-session.js'
import type { CallOptions, GuardRun } from './guard.js'
import { thrownIn } from './denials/thrown-error.js'

/** Limit for nested calls. Tools start synchronously, so each nested call uses the stack. */
const DEPTH_MAX = 100

/**
 * The life of one call: resolve, validate, execute, commit. The decision is drawn and the result is
 * recorded, so a replay takes both from the tape.
 */
export class GuardedCall {
  /** The enclosing calls, whose scopes also apply. */
  readonly around = currentBounds()
  /** If set, the call is refused whatever the policy says. */
  refusal: Refusal | undefined
  /** Undefined if the decision comes from the tape. */
  #decision: Decision | undefined
  #isStarted = false
  /** Reservation while the schema runs. */
  #room: Reservation | undefined

  constructor(
    readonly run: GuardRun,
    readonly name: string,
    readonly tool: GuardedTool | undefined,
    readonly options: CallOptions,
  ) {}

  make(given: unknown): Promise<GuardResult> {
    const refuse = (cause: unknown): CheckedInput => {
      this.refusal = brokenGuard(this.name, 'its arguments could not be checked', cause)
      return { args: given }
    }
    let checking: CheckedInput | Promise<CheckedInput>
    try {
      checking = this.#hasSchema
        ? this.#checkBySchema(given)
        : checkInput(this.name, this.tool?.options, given)
    } catch (cause) {
      checking = refuse(cause)
    }
    const proceed = (input: CheckedInput): Promise<GuardResult> => {
      if ('denial' in input) this.refusal = { denial: input.denial }
      const { call, denial } = storableCall(
        this.name,
        'args' in input ? input.args : given,
        this.tool?.options,
      )
      if (this.around.length >= DEPTH_MAX)
        this.refusal ??= { denial: guardErrors.GUARD_TOO_DEEP(this.name, DEPTH_MAX) }
      if (denial !== undefined) this.refusal ??= { denial }
      if (this.run.tapes.isOver) return Promise.resolve(this.#afterEnd(call))
      const session = this.run.tapes.session()

      // Decide on the copy that the tool will get.
      return this.#perform(session, argumentsOf(call), identified(call, session))
    }
    if (checking instanceof Promise) return checking.catch(refuse).then(proceed)
    try {
      return proceed(checking)
    } catch (error) {
      // For example, the tape could not be opened.
      return Promise.reject(error)
    }
  }

  get #hasSchema(): boolean {
    if (this.refusal !== undefined || this.run.tapes.isOver) return false
    return this.tool?.options.input !== undefined
  }

  /** Checks policy and limits before the schema, because a schema may run code of the tool. */
  #checkBySchema(given: unknown): CheckedInput | Promise<CheckedInput> {
    const { run, tool, name } = this
    const { call, denial } = storableCall(name, given, tool?.options)
    if (denial !== undefined) return { denial }
    const args = argumentsOf(call)
    const refused = this.#refusedBefore(run.tapes.session(), args)
    if (refused !== undefined) return { denial: refused }
    return this.within(() => checkInput(name, tool?.options, args))
  }

  /** Draws the result, so that a replay runs exactly the schemas that the recording ran. */
  #refusedBefore(session: Session, args: unknown): Denial | undefined {
    const { run, tool, name } = this
    const call = { tool: name, args, effects: tool?.options.effects }
    const judge = (): Denial | null => {
      const { verdict, denial } = run.policy.judge(call, run.history)
      if (verdict === 'deny' && denial) return denial
      if (tool === undefined || run.tapes.mayServe(session)) return null
      const room = run.limiter.admit(tool, undefined, args)
      if ('code' in room) return room
      this.#room = room
      return null
    }
    const decide = (): Denial | null => outsideRuns(judge)
    const isAllowedNow = (recorded: Denial | null): boolean =>
      recorded !== null &&
      recorded.exitReason === undefined &&
      outsideRuns(() => run.policy.judge(call, run.history)).verdict !== 'deny'
    return session.draw('guard-before', decide, { isOutdated: isAllowedNow }) ?? undefined
  }

  /**
   * Runs code from the options of the tool within its scopes. Once the call has begun, pass its
   * session: a call that continues outside of the recording would start a tape of the guard's own.
   */
  within<T>(work: () => T, session = this.run.tapes.session()): T {
    const { run, tool, name, around } = this
    if (tool === undefined) return work()
    const bounds = new CallBounds(name, toolScopes(run.policy.scopes, tool), around)
    return insideTool(session.owner ?? session, work, checkOf(bounds))
  }

  /** Denies a call after the end, because it could not be recorded. */
  #afterEnd({ fingerprint }: CanonicalCall): GuardResult {
    this.#room?.release()
    const { name: guard, policy } = this.run
    const denial = guardErrors.GUARD_ENDED(guard, this.name)
    const about = { guard, call: 0, fingerprint, occurrence: 0, policy: policy.hash }
    const facts = { status: 'denied', attempts: 0 } as const
    const intent = deniedIntent(about, denial)
    return resultOf(this.name, -1, intent, facts, undefined, new GuardError(denial))
  }

  #perform(session: Session, args: unknown, given: CanonicalCall): Promise<GuardResult> {
    let call = given
    const site = this.run.recordsSites ? callSite() : undefined
    const decide = (): GuardIntent => {
      this.#room?.release()
      this.#decision = outsideRuns(() => decideCall(this, session, args, call))
      return this.#decision.intent
    }
    let intent = session.drawAhead('guard', decide, {
      isOutdated: (recorded) => outsideRuns(() => isOutdated(this, args, call, recorded)),
      isOwn: (drawn) => {
        // Whether an intent contains only names and identifiers, nothing from arguments or tools.
        const { secrets } = session
        const { verdict, guard, rule = '', argumentDrift } = drawn
        if (verdict !== 'allow' || argumentDrift !== undefined) return false
        if (this.tool?.options.idempotencyKey !== undefined) return false
        const names = `${guard} ${rule}`
        return secrets.text(names) === names
      },
    })
    if (session.secrets.isStructural && this.#decision === undefined)
      call = { ...call, fingerprint: intent.fingerprint }
    const isDecidedAnew = this.#decision !== undefined && this.run.isPolicyChanged
    // The program has changed and makes another call than the one on the tape.
    const isOther = intent.fingerprint !== call.fingerprint
    if (!isOther && this.#decision === undefined) this.run.tapes.follow(intent)
    let waiting: Operation | undefined
    // The model can choose the name of a tool that does not exist.
    const name = this.tool === undefined ? session.secrets.text(this.name) : this.name
    const isStarted = intent.verdict !== 'deny' && intent.served === undefined
    return new Promise((resolve) => {
      const operation = session.perform({
        event:
          site === undefined
            ? { type: 'call', kind: 'tool', name, as: call.as }
            : { type: 'call', kind: 'tool', name, as: call.as, site },
        body: call.body,
        durable: isStarted || isOther,
        ...(isDecidedAnew && { decided: intent.verdict }),
        start: (live, edited) => {
          if (intent.fingerprint !== call.fingerprint) waiting = live
          else this.#start(live, intent, edited ? this.#edited(session, call, edited) : call)
        },
        deliver: (delivery) => {
          operation.close()
          const result = this.#onResult(operation, args, intent, delivery)
          if (result !== undefined) resolve(result)
        },
      })
      if (!isOther) return
      intent = session.draw('guard', () => ({ ...decide(), again: true as const }))
      if (this.#decision === undefined) this.run.tapes.follow(intent)
      if (waiting !== undefined) this.#start(waiting, intent, call)
    })
  }

  /** Handles a result, whether it comes from the tool or from a tape. */
  #onResult(
    { id: event, session }: Operation,
    args: unknown,
    intent: GuardIntent,
    { event: answer, body, native }: Delivery,
  ): GuardResult | undefined {
    if (answer.type !== 'result') return undefined
    const { run, name, tool } = this
    const { error: recorded } = answer
    const facts: GuardFacts = factsOf(answer) ?? { status: 'done' }
    const error =
      recorded && (native ?? rebuildError(recorded, { GuardError, ...tool?.options.errors }))
    const output = answer.as === undefined ? undefined : decodeBody(answer.as, body)
    const { limiter } = run
    // The result came from the tape.
    if (!this.#isStarted) this.#decision?.reservation?.release()
    if (this.#decision?.reservation === undefined || !this.#isStarted)
      run.tapes.spending.absorb(session, event, name, intent, facts)
    if (isAnswer(facts) && !run.isRestored(facts))
      limiter.answered(intent.fingerprint, () => answerKey(answer, body))
    const thrown =
      run.history.followsText && recorded ? thrownIn(recorded, facts.attempts !== 0) : undefined
    run.countResult(name, args, intent, facts, output, { error: thrown, token: this })
    return resultOf(name, event, intent, facts, output, error)
  }

  #start(operation: Operation, drawn: GuardIntent, call: CanonicalCall): void {
    this.#isStarted = true
    const fail = (cause: unknown): void => {
      this.#decision?.reservation?.settle(undefined, 'none')
      const denial = guardErrors.GUARD_BROKEN(this.name, 'it could not be executed')
      commit(operation, { status: 'failed' }, { error: new GuardError(denial, { cause }) })
    }
    try {
      const decision = (this.#decision ??= this.#decideAgain(operation, drawn, call))
      const later = new CallExecution(this, operation, decision, call).start()
      if (later instanceof Promise) later.catch(fail)
    } catch (cause) {
      fail(cause)
    }
  }

  /** The call with arguments that a fork has changed. */
  #edited(session: Session, { as }: CanonicalCall, body: Uint8Array): CanonicalCall {
    const fingerprint = fingerprintOf(this.name, decodeBody(as, body), this.tool?.options)
    return identified({ as, body, fingerprint }, session)
  }

  /** Decides again about a call that goes live although a decision is recorded. Records it. */
  #decideAgain(operation: Operation, before: GuardIntent, call: CanonicalCall): Decision {
    const { session, id: op } = operation
    const args = argumentsOf(call)
    const decision = outsideRuns(() => decideCall(this, session, args, call, before))
    const spent = outsideRuns(() => this.run.tapes.spending.before(session, op))
    attachNote(session, 'again', { op, intent: decision.intent, ...(spent && { spent }) })
    // A call that a resumed run repeats is in doubt, and its tool may be able to verify it.
    const continued = session.recording?.continues
    if (continued?.isResume !== true || this.tool?.options.verify === undefined) return decision
    if (decision.reservation === undefined) return decision
    const from = { run: continued.tape.run.id, seq: op }
    return { ...decision, doubt: { tool: this.name, intent: before, from, args: () => args } }
  }
}
