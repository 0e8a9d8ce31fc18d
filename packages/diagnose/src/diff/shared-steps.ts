import type { RunView, Step } from '@retake/tape'

/** The part of their history that two runs have in common because one, or both, branched off it. */
export interface SharedPart {
  /** The run that recorded it. */
  readonly run: string
  /** Number of events that are the same ones. */
  readonly events: number
}

/** What two runs share by descent. */
export const sharedPart = (a: RunView, b: RunView): SharedPart | undefined => {
  if (b.parent?.run === a.id) return { run: a.id, events: b.parent.seq }
  if (a.parent?.run === b.id) return { run: b.id, events: a.parent.seq }
  if (a.parent !== undefined && a.parent.run === b.parent?.run) {
    return { run: a.parent.run, events: Math.min(a.parent.seq, b.parent.seq) }
  }
  return undefined
}

/** Labels of steps that lie in the shared part with all of their answers, in both runs. */
export const sharedLabels = (a: RunView, b: RunView, shared: SharedPart): ReadonlySet<string> => {
  const isWithin = ({ seq, answerSeqs }: Step): boolean =>
    seq < shared.events &&
    answerSeqs.length > 0 &&
    answerSeqs.every((answer) => answer < shared.events)
  const labelsOf = ({ steps }: RunView): string[] =>
    steps.filter(isWithin).map(({ label }) => label)
  const inB = new Set(labelsOf(b))
  return new Set(labelsOf(a).filter((label) => inB.has(label)))
}
