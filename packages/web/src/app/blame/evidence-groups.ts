import type { Probe, ProbePurpose } from '@retake/tape'

/** The probes that put the same kind of question, in the order they were put. */
export interface EvidenceGroup {
  readonly purpose: ProbePurpose
  readonly probes: readonly Probe[]
  readonly forks: number
}

/** Evidence as a tree: kinds of questions in the order in which they were first put. */
export function evidenceGroups(evidence: readonly Probe[]): EvidenceGroup[] {
  const groups = new Map<ProbePurpose, Probe[]>()
  for (const probe of evidence) {
    const group = groups.get(probe.purpose)
    if (group === undefined) groups.set(probe.purpose, [probe])
    else group.push(probe)
  }
  return [...groups].map(([purpose, probes]) => ({
    purpose,
    probes,
    forks: probes.reduce((sum, { rate, undefinedForks }) => sum + rate.forks + undefinedForks, 0),
  }))
}
