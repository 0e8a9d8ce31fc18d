import type { FixClaim } from '@retake/tape'
import type { FixEvidence } from './prove-fixes.js'

/** Claims about a change to the code, weakest first. docs/fix.md has the same words. */
export const CLAIMS = ['this-run', 'this-kind', 'proven'] as const satisfies readonly FixClaim[]
export type Claim = FixClaim

/** The evidence on which a claim depends. */
export type ClaimEvidence = Pick<
  FixEvidence,
  'siblings' | 'probes' | 'renamed' | 'opposites' | 'corpus' | 'isOracleGiven' | 'literals'
> & {
  /** True if a model wrote the change. */
  readonly isWritten?: boolean
}

/**
 * The strongest claim that the evidence for a working change supports. The only place that decides
 * about it.
 *
 * `this-kind` needs another failed run, or a variant of this one, that the change repairs, and none
 * that it does not. For code of a model, a variant with other names is not enough: it shows only that
 * the code does not contain them. `proven` also needs a passing run that was judged by an oracle of the user; exit
 * code 0 alone does not show that a result is right.
 */
export function claimOf(evidence: ClaimEvidence): Claim {
  const { siblings, probes, renamed, opposites, corpus, isOracleGiven, literals } = evidence
  const others = siblings.trials + probes.trials
  const revealing = others - (evidence.isWritten === true ? renamed : 0)
  const repairsKind = revealing > 0 && siblings.passed + probes.passed === others
  // A value of this run in a comparison may be the reason why this run passes.
  if (!repairsKind || literals.length > 0) return 'this-run'
  const isUnbroken = corpus.identical + corpus.same > 0 && corpus.breaks === 0
  return isOracleGiven && isUnbroken && opposites.passed === opposites.trials
    ? 'proven'
    : 'this-kind'
}
