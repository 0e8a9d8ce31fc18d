import {
  guardSavings,
  readGuards,
  type GuardedCallOnTape,
  type GuardOnTape,
  type GuardSavings,
  type SignatureState,
  type Step,
  type Tape,
} from '@retake/tape'
import { plainValue } from '../plain-value.js'
import { viewRun } from '../view-run.js'

/** Whether a tape is what was recorded. Everything else in an audit rests on this. */
export interface AuditedTape {
  readonly run: string
  readonly name: string
  readonly startedAt: number
  readonly ok: boolean
  readonly events: number
  /** Chain hash of the last event. */
  readonly digest: string
  readonly seal: 'sealed' | 'not sealed'
  readonly signature: SignatureState
  readonly key?: string
  readonly problem?: { readonly seq: number; readonly message: string }
}

/** One guarded call: who did what, under which rule, and what became of it. */
export interface AuditedCall {
  readonly number: number
  /** Label of its step; a nested call has none of its own. */
  readonly step: string | undefined
  readonly event: number
  readonly startedAt: number
  readonly guard: string
  /** Agents and nodes it was made in, outermost first. */
  readonly within: readonly string[]
  readonly isNested: boolean
  readonly tool: string
  readonly args: unknown
  readonly state: GuardedCallOnTape['state']
  /** Also `deny` if the rules allowed the call but a scope denied it. */
  readonly verdict: GuardedCallOnTape['intent']['verdict']
  /** The rule or scope that decided; `default` when no rule matched. */
  readonly rule: string
  /** The scope that denied it, and the target it blocked. */
  readonly scope?: { readonly name: string; readonly touched: string }
  readonly policy: string
  readonly fingerprint: string
  readonly occurrence: number
  readonly site: string | undefined
  readonly code: string | undefined
  readonly why: string | undefined
  readonly error: string | undefined
  readonly facts: GuardedCallOnTape['facts']
}

export interface Audit {
  readonly tape: AuditedTape
  readonly guards: readonly GuardOnTape[]
  readonly calls: readonly AuditedCall[]
  /** What serving results and stopping early have saved, by call and in total. */
  readonly savings: GuardSavings
}

/** Verifies the tape first; of one that is not whole nothing is told but where it breaks. */
export function auditRun(tape: Tape): Audit {
  const { ok, count, digest, signature, key, problem } = tape.verify()
  const audited: AuditedTape = {
    run: tape.run.id,
    name: tape.run.name,
    startedAt: tape.run.startedAt,
    ok: ok && signature !== 'invalid',
    events: count,
    digest,
    seal: tape.status === 'sealed' ? 'sealed' : 'not sealed',
    signature,
    ...(key !== undefined && { key }),
    ...(problem && { problem }),
  }
  if (!audited.ok) return { tape: audited, guards: [], calls: [], savings: guardSavings([]) }
  const { guards, calls } = readGuards(tape)
  const steps = new Map(viewRun(tape).recordedSteps.map((step) => [step.seq, step]))
  return {
    tape: audited,
    guards,
    calls: calls.map((call) => auditedCall(tape, call, steps.get(call.callSeq))),
    savings: guardSavings(calls),
  }
}

function auditedCall(tape: Tape, call: GuardedCallOnTape, step: Step | undefined): AuditedCall {
  const { intent, error } = call
  const scope = deniedByScope(call)
  return {
    number: intent.call,
    step: step?.label,
    event: call.callSeq,
    startedAt: tape.run.startedAt + call.at,
    guard: intent.guard,
    within: step?.within.map(({ name }) => name) ?? [],
    isNested: call.isNested,
    tool: call.tool,
    args: plainValue(call.args()),
    state: call.state,
    verdict: scope ? 'deny' : intent.verdict,
    rule: scope?.name ?? intent.rule ?? 'default',
    ...(scope && { scope }),
    policy: intent.policy,
    fingerprint: intent.fingerprint,
    occurrence: intent.occurrence,
    site: call.site,
    code: codeOf(call),
    why: intent.why,
    error: error && `${error.name}: ${error.message}`,
    facts: call.facts,
  }
}

/** Scopes by the last part of their names: those of a policy, of a tool and of the guard itself. */
const SCOPE = /\/(?:files|network|shell|effects|own-files)$/

/** A call may pass every rule and still be denied: by its arguments, or by what its tool touched. */
function deniedByScope({ state, error }: GuardedCallOnTape): AuditedCall['scope'] {
  const { rule, what } = error?.props ?? {}
  if (state !== 'denied' || error?.name !== 'GuardError') return undefined
  if (typeof rule !== 'string' || !SCOPE.test(rule)) return undefined
  return { name: rule, touched: typeof what === 'string' ? what : error.message }
}

/** Where somebody was asked, what came of that is why: the rule's own code is that of a denial. */
function codeOf({ intent, state, error }: GuardedCallOnTape): string | undefined {
  const own = textOf(error?.code)
  if (intent.verdict !== 'ask') return intent.code ?? own
  return own ?? (state === 'denied' ? intent.code : undefined)
}

const textOf = (code: string | number | undefined): string | undefined =>
  code === undefined ? undefined : String(code)
