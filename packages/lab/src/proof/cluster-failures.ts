import { defined } from '@retake/tape'
import type { FixContext } from './candidates.js'
import { stackSites } from './source-text.js'
import type { Symptom, SymptomClass } from './symptoms.js'

export type FailedRun = Pick<FixContext, 'run' | 'symptoms' | 'error' | 'oracleReason' | 'findings'>

/** Failed runs of the same kind: one fix may repair all of them. */
export interface FailureCluster {
  /** Same for the same kind of failure, also in another list of runs. */
  readonly key: string
  readonly class: SymptomClass | 'unknown'
  /** Location in the agent's code, as `file:line`. */
  readonly site?: string
  /** Tools or models whose steps caused it, if blame has found them. */
  readonly cause?: string
  readonly title: string
  /** Newest first. */
  readonly runs: readonly FailedRun[]
  readonly newestAt: number
}

/** Groups failed runs by symptom, error site and cause; largest group first, then newest. */
export function clusterFailures(failed: readonly FailedRun[]): FailureCluster[] {
  const groups = new Map<string, FailedRun[]>()
  for (const each of failed) {
    const symptom = mainSymptom(each)
    const site = siteOf(each)
    // A symptom or a site says more than the message, which differs from run to run.
    const isKnown = symptom !== undefined && site !== undefined
    const message = (isKnown ? undefined : (each.error?.message ?? each.oracleReason)) ?? ''
    const withoutValues = message
      .replaceAll(/(["'`“])(?:(?!\1).)*(["'`”])/g, '…')
      .replaceAll(/\b[0-9a-f]{8,}\b|\d+/gi, '0')
      .replaceAll(/\s+/g, ' ')
      .slice(0, 200)
    const key = [symptom?.class ?? 'unknown', site, causeOf(each), withoutValues].join(' | ')
    groups.set(key, [...(groups.get(key) ?? []), each])
  }
  return [...groups]
    .map(([key, group]): FailureCluster => {
      const runs = group.toSorted((left, right) => right.run.startedAt - left.run.startedAt)
      const [newest] = runs as [FailedRun, ...FailedRun[]]
      const symptom = mainSymptom(newest)
      return {
        key,
        class: symptom?.class ?? 'unknown',
        ...defined({ site: siteOf(newest), cause: causeOf(newest) }),
        title: symptom?.evidence ?? newest.oracleReason ?? 'The run failed.',
        runs,
        newestAt: newest.run.startedAt,
      }
    })
    .toSorted(
      (left, right) => right.runs.length - left.runs.length || right.newestAt - left.newestAt,
    )
}

/** The most certain symptom other than "something was thrown". */
const mainSymptom = ({ symptoms }: FailedRun): Symptom | undefined =>
  symptoms.find(({ class: kind, confidence }) => kind !== 'exception' && confidence !== 'hint') ??
  symptoms.find(({ class: kind }) => kind === 'exception')

/**
 * Line in the agent's code, of the error or else of the step with the symptom. Without the column,
 * which changes with every edit.
 */
const siteOf = (failed: FailedRun): string | undefined => {
  const [thrown] = stackSites(failed.error?.stack)
  const exception = failed.symptoms.find((symptom) => symptom.class === 'exception')?.site
  return (thrown ?? exception ?? mainSymptom(failed)?.site)?.replace(/:\d+$/, '')
}

const causeOf = ({ run, findings }: FailedRun): string | undefined => {
  const steps = findings?.causes[0]?.steps ?? []
  const names = steps.map((label) => {
    const step = run.step(label)
    return step?.toolName ?? step?.model ?? step?.kind ?? label
  })
  return names.length === 0 ? undefined : [...new Set(names)].join(' + ')
}
