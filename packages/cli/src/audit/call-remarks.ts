import { driftText } from '@retake/tape'
import type { AuditedCall } from './audit-run.js'

/** What there is to say about a call beside its state and its rule, a remark each. */
export function callRemarks({
  facts,
  scope,
  state,
  verdict,
  code,
  why,
  error,
  isNested,
}: AuditedCall): string[] {
  const { approval, served, drift = [], blocked = [], attempts, exitReason } = facts ?? {}
  return [
    ...(isNested ? ['inside another call'] : []),
    ...(served ? [`served from run ${served.run}, event ${served.seq}`] : []),
    ...(approval
      ? [
          `${approval.how === 'break-glass' ? 'break-glass' : code === 'APPROVAL_REFUSED' ? 'refused' : 'approval'} by ${approval.by} (${approval.how})${approval.reason === undefined ? '' : `: ${approval.reason}`}`,
        ]
      : []),
    ...(exitReason ? [`stopped by ${exitReason}`] : []),
    ...(scope ? [`denied by scope ${scope.name}: ${scope.touched}`] : []),
    ...(state === 'denied' &&
    code !== undefined &&
    (scope !== undefined || !blocked.some(isAbout(code)))
      ? [`${code}${why === undefined ? '' : `: ${why}`}`]
      : []),
    ...(state === 'failed' && error !== undefined ? [error] : []),
    ...(state === 'stopped' && facts === undefined
      ? [
          `the run was stopped ${verdict === 'ask' ? 'while it waited for approval' : 'before it started'}`,
        ]
      : []),
    ...(state === 'in doubt' ? ['it left, and nobody saw its answer'] : []),
    ...blocked
      .filter((what) => what !== `${code}: ${scope?.touched}`)
      .map((what) => `refused: ${what}`),
    ...drift.map(driftText),
    ...(attempts !== undefined && attempts > 1 ? [`${attempts} attempts`] : []),
  ]
}

const isAbout =
  (code: string) =>
  (what: string): boolean =>
    what.startsWith(`${code}: `)
