import type { ArgumentDrift } from '@retake/tape/format'
import type { PolicyJudgement } from '../../policy/compiled-policy.js'
import { contractErrors } from '../contract-errors.js'
import type { Baseline } from './baseline.js'
import { driftScore } from './drift-score.js'

/** Policy for a call whose arguments are unusual. */
export interface OnArgumentDrift {
  /** Scores above this are acted upon. */
  readonly over: number
  /** `warn`: only noted on the tape, as every score is. */
  readonly then: 'warn' | 'ask' | 'deny'
}

export interface ArgumentDriftOptions {
  readonly baseline?: Baseline | string
  readonly onArgumentDrift?: OnArgumentDrift
}

/** A judgement with the score of the arguments, which can make it stricter and nothing else. */
export function judgeArguments(
  { baseline, onArgumentDrift }: ArgumentDriftOptions,
  call: { readonly tool: string; readonly args: unknown },
  judgement: PolicyJudgement,
): { readonly judgement: PolicyJudgement; readonly drift?: ArgumentDrift } {
  if (baseline === undefined || typeof baseline === 'string') return { judgement }
  const drift = driftScore(baseline, call.tool, call.args)
  if (drift.score === 0) return { judgement }
  const { over = Infinity, then = 'warn' } = onArgumentDrift ?? {}
  const isStrict = judgement.verdict === 'deny' || judgement.verdict === then
  if (drift.score <= over || then === 'warn' || isStrict) return { judgement, drift }
  const denial = contractErrors.argumentDrift(call.tool, drift, over)
  return { judgement: { verdict: then, rule: denial.rule, denial }, drift }
}
