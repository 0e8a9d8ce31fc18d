import {
  decodeBody,
  encodeBody,
  GUARD_NOTES,
  rebuildError,
  recordError,
  type ArgumentDrift,
  type BodyForm,
  type GuardFacts,
  type GuardIntent,
  type GuardStatus,
  type RecordedError,
} from '@retake/tape'
import { callSite } from '../call-site.js'
import { natives } from '../natives.js'
import { currentBounds, outsideRuns } from '../scope.js'
import { EMPTY, type Operation, type Session } from '../sessions/session.js'
import { approveCall } from './approval/approve-call.js'
import { CallBounds } from './bounds/call-bounds.js'
import { findRefusal } from './bounds/find-refusal.js'
import { fingerprintOf, storableCall, type CanonicalCall } from './canonical-call.js'
import { judgeArguments } from './contract/baseline/judge-arguments.js'
import { checkInput } from './contract/check-input.js'
import { checkOutput } from './contract/check-output.js'
import { GuardError, type Denial } from './guard-error.js'
import { guardErrors } from './guard-errors.js'
import type { GuardedTool } from './guarded-tool.js'
import type { GuardResult } from './guard-result.js'
import type { CallOptions, GuardRun } from './guard-run.js'
import { answerKey } from './limits/answer-key.js'
import { AttemptBounds } from './limits/attempt-bounds.js'
import { circuitOutcome, executeTool } from './limits/execute-tool.js'
import type { Reservation } from './limits/reservation.js'
import type { Judgement } from './policy/compiled-policy.js'
import { callKey } from './resume/call-ledger.js'
import type { EarlierCall } from './resume/earlier-calls.js'
import { encloseCalls } from './resume/enclosing-call.js'
import type { InDoubtDecision } from './resume/in-doubt.js'
import { NestedSession } from './resume/nested-session.js'
import { resumeErrors } from './resume/resume-errors.js'
import { revealed } from './resume/revealed.js'
import { thrownError } from './thrown-error.js'

/** How a call came out, as it goes on the tape. */
type Outcome =
  | { readonly value: unknown }
  | { readonly error: unknown }
  | {
      readonly as: BodyForm | undefined
      readonly body: Uint8Array
      readonly recorded: RecordedError | undefined
    }

const DEFAULT_EXPIRY_MS = 300_000
/** Calls inside calls inside calls. */
const DEPTH_MAX = 256

/**
 * One call on its way through the gate: resolve, validate, execute, commit.
 * What is decided before the tool starts is drawn, what comes of it is the
 * result of the call: on replay both come from the tape.
 */
export class GuardedCall {
  /** The calls whose tools make this one: it is bound by them, too. */
  readonly #around = currentBounds()
  #denial: Denial | undefined
  #cause: unknown
  #reservation: Reservation | undefined
  #earlier: EarlierCall | undefined
  /** In doubt, and not to be made again. */
  #isSkipped = false
  /** Set when it was decided here, and not by a tape. */
  #isDecided = false

  constructor(
    readonly run: GuardRun,
    readonly name: string,
    readonly tool: GuardedTool | undefined,
    readonly options: CallOptions,
  ) {}

  async make(given: unknown): Promise<GuardResult> {
    let args = given
    try {
      const checked = checkInput(this.name, this.tool?.options, given)
      const input = checked instanceof Promise ? await checked : checked
      if ('denial' in input) this.#denial = input.denial
      else ({ args } = input)
    } catch (cause) {
      this.#denial = this.#broken('its arguments could not be checked', cause)
    }
    const { call, denial } = storableCall(this.name, args)
    if (this.#around.length >= DEPTH_MAX) this.#denial ??= guardErrors.tooDeep(this.name, DEPTH_MAX)
    this.#denial ??= denial
    if (this.run.isOver) return this.#afterEnd(call)
    const session = this.run.session()
    // What is judged is what was read, as the tool will get it: not what the caller holds.
    return this.#perform(session, decodeBody(call.as, call.body), call)
  }

  /** Nothing can be put down any more, so nothing is run. */
  #afterEnd({ fingerprint }: CanonicalCall): GuardResult {
    const { name, policy } = this.run
    const denial = guardErrors.ended(name, this.name)
    const { code, rule, why, allowed } = denial
    const about = { guard: name, call: 0, fingerprint, occurrence: 0, policy: policy.hash }
    const intent: GuardIntent = { ...about, verdict: 'deny', code, rule, why, allowed }
    const facts: GuardFacts = { status: 'denied', attempts: 0 }
    return resultOf(this.name, -1, intent, facts, undefined, new GuardError(denial))
  }

  /** Where the guard's own work throws, the call is not let through. */
  #broken(where: string, cause: unknown): Denial {
    if (cause instanceof GuardError) return cause.denial
    this.#cause = cause
    return guardErrors.broken(this.name, where)
  }

  #perform(session: Session, args: unknown, call: CanonicalCall): Promise<GuardResult> {
    const site = callSite()
    const decide = () => outsideRuns(() => this.#decide(session, args, call))
    let intent = session.draw('guard', decide)
    // A program that was changed makes another call here: what the tape decided is not about it.
    const isOther = intent.fingerprint !== call.fingerprint
    if (!isOther && !this.#isDecided) this.run.follow(intent)
    let waiting: Operation | undefined
    const isStarted = intent.verdict !== 'deny' && intent.served === undefined
    return new Promise((resolve) => {
      const operation = session.perform({
        event: {
          type: 'call',
          kind: 'tool',
          name: this.name,
          as: call.as,
          ...(site !== undefined && { site }),
        },
        body: call.body,
        durable: isStarted || isOther,
        start: (live, edited) => {
          if (intent.fingerprint !== call.fingerprint) waiting = live
          else this.#start(live, intent, edited ? editedCall(this.name, call, edited) : call)
        },
        deliver: ({ event, body, native }) => {
          operation.close()
          if (event.type !== 'result') return
          const facts = event.guard ?? { status: 'done' }
          const classes = { GuardError, ...this.tool?.options.errors }
          const error = event.error && (native ?? rebuildError(event.error, classes))
          const output = event.as === undefined ? undefined : decodeBody(event.as, body)
          const { limiter } = this.run
          if (this.#reservation === undefined) limiter.absorb(this.name, intent, facts)
          if (facts.exitReason === undefined || facts.attempts !== 0)
            limiter.answered(intent.fingerprint, () => answerKey(event, body))
          const thrown = error instanceof GuardError ? undefined : error
          this.run.took(this.name, args, intent, facts, output, { error: thrown, token: this })
          resolve(resultOf(this.name, operation.id, intent, facts, output, error))
        },
      })
      if (!isOther) return
      intent = session.draw('guard', () => ({ ...decide(), again: true as const }))
      if (!this.#isDecided) this.run.follow(intent)
      if (waiting !== undefined) this.#start(waiting, intent, call)
    })
  }

  #start(operation: Operation, intent: GuardIntent, call: CanonicalCall): void {
    this.#carryOut(operation, intent, call).catch((cause: unknown) => {
      this.#reservation?.settle(undefined, 'none')
      const denial = guardErrors.broken(this.name, 'it could not be carried out')
      commit(operation, { status: 'failed' }, { error: new GuardError(denial, { cause }) })
    })
  }

  /** Resolve and validate: all that can be said before the tool starts, in one synchronous step. */
  #decide(
    session: Session,
    args: unknown,
    { fingerprint }: CanonicalCall,
    before?: GuardIntent,
  ): GuardIntent {
    const { run, tool, name } = this
    this.#isDecided = true
    run.introduce(session)
    const { effects, idempotent, idempotencyKey } = tool?.options ?? {}
    const within = session instanceof NestedSession ? session.within : undefined
    const occurrence = before?.occurrence ?? run.nextOccurrence(fingerprint, within)
    const earlier = before ? undefined : run.findEarlier(session, fingerprint, occurrence, within)
    const isIdempotent = idempotent === true || idempotencyKey !== undefined
    const about: Omit<GuardIntent, 'verdict'> & { key?: string; argumentDrift?: ArgumentDrift } = {
      guard: run.name,
      call: before?.call ?? run.nextCall(),
      fingerprint,
      occurrence,
      policy: run.policy.hash,
      ...(effects && { effects }),
      ...(isIdempotent && { idempotent: true }),
      ...(within !== undefined && { within }),
    }
    const deny = (denial: Denial): GuardIntent => {
      this.#denial = denial
      const { code, rule, why, allowed, exitReason } = denial
      return {
        ...about,
        verdict: 'deny',
        code,
        rule,
        why,
        allowed,
        ...(exitReason && { exitReason }),
      }
    }
    if (tool === undefined) return deny(guardErrors.unknownTool(name, run.toolNames))
    if (this.#denial !== undefined) return deny(this.#denial)
    let judgement: Judgement
    try {
      judgement = run.policy.judge({ tool: name, args, effects }, run.history)
      const judged = judgeArguments(run.options, { tool: name, args }, judgement)
      judgement = judged.judgement
      if (judged.drift) about.argumentDrift = judged.drift
    } catch (cause) {
      return deny(this.#broken('its policy could not judge it', cause))
    }
    const { verdict, rule, denial } = judgement
    if (verdict === 'deny' && denial) return deny(run.explainChange(denial, earlier))
    // It counts from here on; if it never starts after all, its answer says so.
    run.history.begin({ tool: name, args, effects }, this)
    const { key } = before ?? earlier?.intent ?? {}
    try {
      const own =
        key ?? idempotencyKey?.(args) ?? run.keyOf(session, fingerprint, occurrence, within)
      if (typeof own !== 'string' || own === '') throw new TypeError(`it returned ${String(own)}`)
      about.key = own
    } catch (cause) {
      return deny(resumeErrors.keyFailed(name, cause))
    }
    this.#earlier = earlier
    if (earlier?.facts?.status === 'done') {
      // What was approved under this very policy need not be approved again.
      const isAsked = verdict === 'ask' && earlier.intent.policy !== run.policy.hash
      const told = isAsked && denial && { code: denial.code, why: denial.why }
      return {
        ...about,
        verdict: isAsked ? 'ask' : 'allow',
        ...(rule && { rule }),
        ...told,
        served: earlier.from,
      }
    }
    if (earlier !== undefined && earlier.facts === undefined) {
      let decision: InDoubtDecision
      try {
        decision = run.decideDoubt(earlier, tool)
      } catch (cause) {
        return deny(this.#broken('nobody could decide about a call in doubt', cause))
      }
      if (decision === 'fail') return deny(resumeErrors.inDoubt(name, earlier.from.run))
      this.#isSkipped = decision === 'skip'
      if (this.#isSkipped) return { ...about, verdict: 'allow', ...(rule && { rule }) }
    }
    const admitted = run.limiter.admit(tool, fingerprint, args)
    if ('code' in admitted) return deny(admitted)
    this.#reservation = admitted
    this.#denial = denial
    return {
      ...about,
      verdict,
      ...(rule && { rule }),
      ...(denial && { code: denial.code, why: denial.why, allowed: denial.allowed }),
      ...(admitted.reserved && { reserved: admitted.reserved }),
    }
  }

  /** What a tape decided about a call that is made live all the same is decided anew, and said so. */
  #decideAgain(operation: Operation, before: GuardIntent, call: CanonicalCall): GuardIntent {
    const { session } = operation
    const args = decodeBody(call.as, call.body)
    const intent = outsideRuns(() => this.#decide(session, args, call, before))
    session.keep?.(GUARD_NOTES.again, Buffer.from(JSON.stringify({ intent })))
    return intent
  }

  async #carryOut(operation: Operation, drawn: GuardIntent, call: CanonicalCall): Promise<void> {
    const intent = this.#isDecided ? drawn : this.#decideAgain(operation, drawn, call)
    const denied = (denial: Denial, facts: Partial<GuardFacts> = {}): void =>
      commit(
        operation,
        {
          ...facts,
          status: statusOf(denial),
          attempts: 0,
          ...(denial.exitReason && { exitReason: denial.exitReason }),
        },
        { error: new GuardError(denial, this.#cause ? { cause: this.#cause } : undefined) },
      )
    const { tool } = this
    if (intent.verdict === 'deny' || tool === undefined)
      return denied(this.#denial ?? denialOf(this.name, intent))
    if (this.#isSkipped)
      return commit(
        operation,
        { status: 'in doubt', attempts: 0 },
        { as: undefined, body: EMPTY, recorded: undefined },
      )
    const { served } = intent
    if (this.#earlier !== undefined && served !== undefined) {
      const { error: recorded, facts } = this.#earlier
      const approved =
        intent.verdict === 'ask' ? await this.#approve(operation, intent, call) : undefined
      const approval = approved?.approval && { approval: approved.approval }
      if (approved && 'denial' in approved) return denied(approved.denial, approval)
      const { as, body } = revealed(this.#earlier.result(), operation.session.secrets)
      const outcome = { as, body, recorded }
      return commit(
        operation,
        { ...facts, ...approval, status: 'done', attempts: 0, served },
        outcome,
      )
    }
    // A tape decided about a call that is made live all the same: it needs room now.
    const room =
      this.#reservation ??
      this.run.limiter.admit(tool, intent.fingerprint, decodeBody(call.as, call.body))
    if ('code' in room) return denied(room)
    this.#reservation = room
    let facts: Partial<GuardFacts> = {}
    if (intent.verdict === 'ask') {
      const approved = await this.#approve(operation, intent, call)
      if (approved.approval) facts = { approval: approved.approval }
      if ('denial' in approved) {
        room.release()
        return denied(approved.denial, facts)
      }
      // From here on it may have its effect; until here a crash left nothing in doubt.
      const { guard, call: number } = intent
      operation.session.keep?.(
        GUARD_NOTES.approved,
        Buffer.from(JSON.stringify({ guard, call: number })),
      )
    }
    const Bounds = (tool.options.retries ?? 0) > 0 ? AttemptBounds : CallBounds
    const bounds = new Bounds(this.name, this.run.policy.scopes, this.#around)
    encloseCalls(bounds, callKey(intent.fingerprint, intent.occurrence, intent.within))
    const refusal = await room.ready(bounds, this.options.signal)
    if (refusal !== undefined) return denied(refusal, facts)
    const executed = await executeTool({
      tool,
      args: () => decodeBody(call.as, call.body),
      session: operation.session.owner ?? operation.session,
      bounds,
      idempotencyKey: intent.key ?? callKey(intent.fingerprint, intent.occurrence),
      signal: this.options.signal,
      again: (usage) => room.again(usage),
      late: (usage) => room.late(usage),
      ...this.run.limiter.allowanceOf(tool),
    })
    bounds.end(guardErrors.callOver(this.name))
    const overused = room.settle(executed.lastUsage, circuitOutcome(executed), executed.isGivenUp)
    facts = {
      ...facts,
      ...executed.facts,
      ...(overused && { overused }),
      ...(bounds.blocked.length > 0 && {
        blocked: bounds.blocked.map(({ code, what }) => `${code}: ${what}`),
      }),
    }
    const { outcome } = executed
    if ('error' in outcome) {
      const error = thrownError(this.name, outcome.error)
      // What a call around this one may not, it may not either.
      const blocked = [bounds, ...this.#around].flatMap((each) => each.blocked)
      const refusal = findRefusal(error, blocked)
      return commit(
        operation,
        { ...facts, status: refusal ? 'denied' : executed.facts.status },
        { error: refusal ?? error },
      )
    }
    const checking = checkOutput(tool, outcome.value)
    const { value, drift, denial } = checking instanceof Promise ? await checking : checking
    const withDrift = { ...facts, ...(drift.length > 0 && { drift }) }
    if (denial)
      commit(operation, { ...withDrift, status: 'failed' }, { error: new GuardError(denial) })
    else if (value === outcome.value)
      commit(
        operation,
        { ...withDrift, status: 'done' },
        { as: outcome.as, body: outcome.body, recorded: undefined },
      )
    else commit(operation, { ...withDrift, status: 'done' }, { value })
  }

  #approve(operation: Operation, intent: GuardIntent, call: CanonicalCall) {
    const { approval = {} } = this.run.options
    const askedAt = natives.dateNow()
    return approveCall(
      {
        digest: `${intent.fingerprint}-${intent.occurrence}-${intent.policy}`,
        guard: this.run.name,
        tool: this.name,
        args: decodeBody(call.as, call.body),
        rule: intent.rule ?? 'default',
        why: intent.why ?? '',
        tape: operation.session.recording?.tape,
        event: operation.id,
        askedAt,
        expiresAt: askedAt + (approval.expiresMs ?? DEFAULT_EXPIRY_MS),
      },
      approval,
      this.options.signal,
    )
  }
}

/** Only a call that may have been made already is in doubt; one that a limit stopped, stopped. */
const statusOf = ({ code, exitReason }: Denial): GuardStatus =>
  code === 'CALL_IN_DOUBT' ? 'in doubt' : exitReason === undefined ? 'denied' : 'stopped'

/** A call whose arguments a fork has changed. */
function editedCall(tool: string, { as }: CanonicalCall, body: Uint8Array): CanonicalCall {
  return { as, body, fingerprint: fingerprintOf(tool, decodeBody(as, body)) }
}

/** Of a call whose decision comes from a tape and that runs live all the same. */
const denialOf = (tool: string, intent: GuardIntent): Denial => ({
  code: intent.code ?? 'POLICY_DENIED',
  rule: intent.rule ?? 'default',
  what: `Tool "${tool}" was not started.`,
  why: intent.why ?? 'The policy did not allow it.',
  allowed: intent.allowed ?? 'Call a tool that the policy allows.',
  ...(intent.exitReason && { exitReason: intent.exitReason }),
})

function commit(operation: Operation, guard: GuardFacts, outcome: Outcome): void {
  if ('error' in outcome) {
    const { error } = outcome
    operation.complete({ type: 'result', guard, error: recordError(error) }, undefined, error)
  } else if ('value' in outcome) {
    const { as, body } = encodeBody(outcome.value)
    operation.complete({ type: 'result', as, guard }, body)
  } else {
    const { as, body, recorded } = outcome
    operation.complete(
      { type: 'result', guard, ...(as && { as }), ...(recorded && { error: recorded }) },
      body,
    )
  }
}

const resultOf = (
  tool: string,
  event: number,
  intent: GuardIntent,
  facts: GuardFacts,
  output: unknown,
  error: unknown,
): GuardResult => ({
  status: facts.status,
  output,
  error,
  step: {
    number: intent.call,
    tool,
    event,
    fingerprint: intent.fingerprint,
    occurrence: intent.occurrence,
  },
  served: facts.served !== undefined,
  exitReason: facts.exitReason,
  drift: facts.drift ?? [],
  intent,
  facts,
})
