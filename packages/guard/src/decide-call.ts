import type { GuardIntent } from '@retake/tape/guards'
import type { Session } from '@retake/engine/hook'
import type { CanonicalCall } from './canonical-call.js'
import { judgeArguments } from './contract/baseline.js'
import { type Denial, GuardError, guardErrors } from './denials/guard-error.js'
import type { GuardedCall } from './guarded-call.js'
import type { Refusal } from './guard-outcome.js'
import type { Reservation } from './limits/meter.js'
import type { PolicyJudgement } from './policy/compiled-policy.js'
import type { CallWithoutResult, EarlierCall, InDoubtDecision } from './resume/earlier-runs.js'
import { NestedSession } from './resume/nested-session.js'
import { resumeDenials } from './resume/resume-errors.js'

/** The decision about a call, with everything needed to execute it. */
export interface Decision {
  readonly intent: GuardIntent
  readonly refusal?: Refusal
  /** The usage that is reserved under the limits. */
  readonly reservation?: Reservation
  /** The same call in an earlier run. Its result is served. */
  readonly earlier?: EarlierCall
  /** The call is in doubt and `inDoubt` chose not to repeat it. */
  readonly isSkipped?: boolean
  /** The call is in doubt, and its tool can verify whether it took effect. */
  readonly doubt?: CallWithoutResult
}

/** Filled field by field, because a spread would create a new hidden class for each call. */
type Draft = { -readonly [Field in keyof GuardIntent]: GuardIntent[Field] }
/** The part of an intent that does not depend on the decision. */
type About = Omit<Draft, 'verdict'>

/**
 * Decides about a call. Synchronous, so that two calls cannot both take the last of a limit.
 * `before` is the recorded decision of a call that goes live again.
 */
export function decideCall(
  call: GuardedCall,
  session: Session,
  args: unknown,
  { fingerprint }: CanonicalCall,
  before?: GuardIntent,
): Decision {
  const { run, tool, name } = call
  run.tapes.introduce(session)
  const within = session instanceof NestedSession ? session.within : undefined
  const occurrence = before?.occurrence ?? run.tapes.counters.nextOccurrence(fingerprint, within)
  const earlier = before
    ? undefined
    : run.tapes.findEarlier(session, fingerprint, occurrence, within)
  const about = aboutCall(call, fingerprint, occurrence, within, before)
  if (tool === undefined) return deny(about, guardErrors.GUARD_UNKNOWN_TOOL(name, run.toolNames))
  if (call.refusal !== undefined) return refuse(about, call.refusal)
  const { effects, idempotencyKey } = tool.options
  const isServed = earlier?.facts?.status === 'done'
  if (earlier !== undefined && earlier.facts === undefined) run.history.withdraw(earlier)
  let judgement: PolicyJudgement
  try {
    // The same policy has allowed it; rules that look back would count it twice.
    judgement =
      isServed && earlier.intent.policy === run.policy.hash
        ? {
            verdict: 'allow',
            ...(earlier.intent.rule !== undefined && { rule: earlier.intent.rule }),
          }
        : judgeByPolicy(call, args)
    const judged = judgeArguments(run.options, { tool: name, args }, judgement)
    judgement = judged.judgement
    if (judged.drift) about.argumentDrift = judged.drift
  } catch (cause) {
    return refuse(about, brokenGuard(name, 'its policy could not judge it', cause))
  }
  const { verdict, rule, denial } = judgement
  if (verdict === 'deny' && denial) return deny(about, run.tapes.explainChange(denial, earlier))
  const { key } = before ?? earlier?.intent ?? {}
  try {
    // The tool's function may return anything.
    const given: unknown = key ?? (idempotencyKey && call.within(() => idempotencyKey(args)))
    const own = given ?? run.tapes.keyOf(session, fingerprint, occurrence, within)
    if (typeof own !== 'string' || own === '')
      throw new TypeError(`it returned ${own === '' ? 'an empty text' : typeof own}`)
    about.key = own
  } catch (cause) {
    return deny(about, resumeDenials.IDEMPOTENCY_KEY_FAILED(name, cause))
  }
  if (isServed) {
    // An approval under the same policy is still valid.
    const needsPrompt = verdict === 'ask' && earlier.intent.policy !== run.policy.hash
    const reason = needsPrompt && denial && { code: denial.code, why: denial.why }
    const served = { verdict: needsPrompt ? 'ask' : 'allow', served: earlier.from } as const
    return { intent: { ...about, ...(rule && { rule }), ...reason, ...served }, earlier }
  }
  // The call counts from here on. A result without an attempt withdraws it.
  run.history.begin({ tool: name, args, effects }, call)
  const doubt = earlier !== undefined && earlier.facts === undefined ? earlier : undefined
  if (doubt !== undefined && tool.options.verify === undefined) {
    let decision: InDoubtDecision
    try {
      decision = run.tapes.decideDoubt(doubt, tool)
    } catch (cause) {
      return refuse(about, brokenGuard(name, '`inDoubt` threw', cause))
    }
    if (decision === 'fail') return deny(about, resumeDenials.CALL_IN_DOUBT(name, doubt.from.run))
    if (decision === 'skip')
      return { intent: { ...about, verdict: 'allow', ...(rule && { rule }) }, isSkipped: true }
  }
  const admit = (): Denial | Reservation => run.limiter.admit(tool, fingerprint, args)
  const reservation = typeof tool.options.reserve === 'function' ? call.within(admit) : admit()
  if ('code' in reservation) return deny(about, reservation)
  const intent = about as Draft
  intent.verdict = verdict
  if (rule !== undefined) intent.rule = rule
  if (denial !== undefined) {
    intent.code = denial.code
    intent.why = denial.why
    intent.allowed = denial.allowed
  }
  const { reserved } = reservation
  if (reserved !== undefined) intent.reserved = reserved
  return { reservation, intent, ...(doubt && tool.options.verify && { doubt }) }
}

const judgeByPolicy = ({ run, tool, name }: GuardedCall, args: unknown): PolicyJudgement =>
  run.policy.judge({ tool: name, args, effects: tool?.options.effects }, run.history)

/**
 * True if a recorded decision was made under another policy and either is about another call or
 * would be different now. Refusals by limits and contracts stay as recorded.
 */
export function isOutdated(
  call: GuardedCall,
  args: unknown,
  { fingerprint }: CanonicalCall,
  recorded: GuardIntent,
): boolean {
  const { run, name, refusal } = call
  if (recorded.policy === run.policy.hash) return false
  run.isPolicyChanged = true
  if (recorded.fingerprint !== fingerprint) return true
  if (refusal !== undefined || recorded.exitReason !== undefined) return false
  try {
    const judged = judgeArguments(run.options, { tool: name, args }, judgeByPolicy(call, args))
    return judged.judgement.verdict !== recorded.verdict
  } catch {
    return true
  }
}

const deny = (about: About, denial: Denial): Decision => refuse(about, { denial })

const refuse = (about: About, refusal: Refusal): Decision => ({
  intent: deniedIntent(about, refusal.denial),
  refusal,
})

function aboutCall(
  { run, tool }: GuardedCall,
  fingerprint: string,
  occurrence: number,
  within: string | undefined,
  before: GuardIntent | undefined,
): About {
  const { effects, idempotent, idempotencyKey, verify } = tool?.options ?? {}
  const isIdempotent = idempotent === true || idempotencyKey !== undefined
  const about: About = {
    guard: run.name,
    call: before?.call ?? run.tapes.counters.nextCall(),
    fingerprint,
    occurrence,
    policy: run.policy.hash,
  }
  if (effects !== undefined) about.effects = effects
  if (isIdempotent) about.idempotent = true
  if (verify !== undefined) about.verifiable = true
  if (within !== undefined) about.within = within
  return about
}

/** The intent of a denied call, as recorded on the tape. */
export const deniedIntent = (
  about: Omit<GuardIntent, 'verdict'>,
  { code, rule, why, allowed, exitReason }: Denial,
): GuardIntent => ({
  ...about,
  verdict: 'deny',
  code,
  rule,
  why,
  allowed,
  ...(exitReason && { exitReason }),
})

/** The refusal of a call if the guard itself throws. */
export const brokenGuard = (tool: string, where: string, cause: unknown): Refusal =>
  cause instanceof GuardError
    ? { denial: cause.denial }
    : { denial: guardErrors.GUARD_BROKEN(tool, where), cause }
