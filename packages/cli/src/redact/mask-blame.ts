import type { RunBlame } from '@retake/web'
import type { Mask } from './mask.js'

/**
 * Findings of blame with everything hidden that matches, wherever a text of the run or of
 * the user can stand: oracle, reasons and notes. The rest are numbers and words of ours.
 */
export function maskBlame(blame: RunBlame, mask: Mask): RunBlame {
  const { findings, facts } = blame
  const hide = (text: string): string => mask.text(text)
  return {
    ...blame,
    oracle: hide(blame.oracle),
    findings: {
      ...findings,
      ...(findings.why !== undefined && { why: hide(findings.why) }),
      steps: findings.steps.map((step) => ({ ...step, label: hideLabel(step.label, hide) })),
      evidence: findings.evidence.map((probe) => ({
        ...probe,
        kept: hideLabel(probe.kept, hide),
      })),
      notes: findings.notes.map(hide),
    },
    facts: {
      ...facts,
      undefinedBy: facts.undefinedBy.map(({ reason, count }) => ({ reason: hide(reason), count })),
      free: facts.free.map(hide),
    },
  }
}

/** Numbers of steps are not the user's, whatever the pattern: a step that has none would be lost. */
const hideLabel = (label: string, hide: (text: string) => string): string =>
  /^[\d.,-]*$/.test(label) ? label : hide(label)
