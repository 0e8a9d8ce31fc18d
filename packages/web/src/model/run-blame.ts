import type {
  AmbientInput,
  BlamedStep,
  BlameFindings,
  CauseSet,
  ForkCounts,
  BlameProbe,
  BlameRace,
  PassRate,
  Rate,
  RiskPoint,
  StepIntervention,
  TestedRepair,
} from '@retake/tape'
import {
  check,
  flag,
  list,
  number,
  object,
  oneOf,
  optional,
  recordOf,
  type Shape,
  text,
} from './shape.js'

const VERDICTS = [
  'attributed',
  'dependence',
  'race',
  'no attributable step',
  'flaky',
  'inconclusive',
  'stopped',
] as const satisfies readonly BlameFindings['verdict'][]
const MODES = ['free', 'frozen'] as const
const CAUSES = ['root', 'joint', 'back-up'] as const
/** Worst first: of several steps at one pixel, the first of these is shown. */
export const BLAME_ROLES = [
  'root',
  'joint',
  'back-up',
  'echo',
  'affected',
  'unknown',
  'clear',
] as const satisfies readonly BlamedStep['role'][]
const PURPOSES = [
  'anchor',
  'ambient',
  'prefix',
  'cause',
  'minimal',
  'repair',
  'echo',
  'transplant',
  'back-up',
  'audit',
  'confirm',
  'one out',
  'risk',
] as const satisfies readonly BlameProbe['purpose'][]

/** JSON has null for numbers that were not finite. */
const known =
  <T>(shape: Shape<T>): Shape<T | undefined> =>
  (value, path) =>
    value === null ? undefined : optional(shape)(value, path)

const rate = object<Rate>({ fails: number, forks: number, low: number, high: number })
const passRate = object<PassRate>({ passes: number, forks: number, low: number, high: number })

const ambientInput = object<AmbientInput>({
  kind: oneOf(['clock', 'random', 'file', 'environment', 'order']),
  name: text,
  value: known(text),
  site: known(text),
  step: known(text),
  steps: known(list(text)),
})

const INTERVENTIONS = [
  'live',
  'given',
  'sibling',
  'recorded',
  'simulated',
  'neutral',
  'empty',
  'error',
  'field',
  'pinned',
] as const satisfies readonly StepIntervention[]

const blamedStep = object<BlamedStep>({
  label: text,
  role: oneOf(BLAME_ROLES),
  isNecessary: flag,
  isSufficient: flag,
  responsibility: number,
  alone: known(rate),
  prior: known(number),
  isUnchanged: known(flag),
  intervention: known(oneOf(INTERVENTIONS)),
})

const probe = object<BlameProbe>({
  purpose: oneOf(PURPOSES),
  mode: oneOf(MODES),
  pinned: text,
  ambient: known(list(number)),
  given: known(list(object<{ step: string; from: string }>({ step: text, from: text }))),
  rate,
  undefinedForks: number,
  fails: known(flag),
})

const forkCounts = object<ForkCounts>({
  asked: number,
  served: number,
  undefined: number,
  liveSteps: number,
  tokens: known(number),
  costUsd: known(number),
})

const findings: Shape<BlameFindings> = (value, path) => {
  const { version, steps } = object<{ version: number; steps: readonly BlamedStep[] }>({
    version: number,
    steps: list(blamedStep),
  })(value, path)
  if (version !== 2)
    throw new Error(
      `Its findings are of ${version > 2 ? 'a newer' : 'an older'} version of Retake (${version})`,
    )
  const labels = new Set<unknown>(steps.map(({ label }) => label))
  const label = check(`one of ${steps.length} steps`, (each): each is string => labels.has(each))
  return object<BlameFindings>({
    version: () => 2,
    verdict: oneOf(VERDICTS),
    why: known(text),
    causes: list(
      object<CauseSet>({
        role: oneOf(CAUSES),
        steps: list(label),
        ambient: known(list(number)),
        sufficiency: rate,
        shares: list(number),
      }),
    ),
    steps: () => steps,
    ambient: list(ambientInput),
    race: known(object<BlameRace>({ steps: list(label), text })),
    repair: known(
      object<TestedRepair>({
        steps: list(label),
        ambient: known(list(number)),
        pinned: text,
        rate: passRate,
      }),
    ),
    decisionStep: known(label),
    commitStep: known(label),
    confidence: number,
    anchors: object<BlameFindings['anchors']>({
      pinned: rate,
      free: rate,
      ambientFree: known(rate),
    }),
    riskCurve: list(object<RiskPoint>({ upTo: known(label), rate })),
    mode: oneOf(MODES),
    evidence: list(probe),
    forks: forkCounts,
    notes: list(text),
  })(value, path)
}

const facts = object<SearchFactsView>({
  newForks: known(number),
  forcedAnswers: known(number),
  wallMs: known(number),
  undefinedBy: (value, path) =>
    Object.entries(known(recordOf)(value, path) ?? {}).map(([reason, count]) => ({
      reason,
      count: number(count, `${path}.${reason}`),
    })),
  free: (value, path) => known(list(text))(value, path) ?? [],
})

/**
 * Reads a stored blame file. It may have been edited or cut off: throws an error that says
 * what is wrong. Unknown fields are ignored.
 */
export function readRunBlame(value: unknown, run: string): RunBlame {
  const file = object<{ version: number; run: string }>({ version: number, run: text })(value, '')
  if (file.version > 1)
    throw new Error(`It was written by a newer version of Retake (form ${file.version})`)
  if (file.version !== 1) throw new Error('Its format is unknown')
  if (file.run !== run) throw new Error('It belongs to another run')
  return object<RunBlame>({
    at: number,
    oracle: text,
    findings,
    facts: (each, path) => facts(each ?? {}, path),
  })(value, '')
}

/** The result of the last blame search of a run, validated by `readRunBlame`. */
export interface RunBlame {
  readonly at: number
  readonly oracle: string
  readonly findings: BlameFindings
  readonly facts: SearchFactsView
}

export interface SearchFactsView {
  /** Forks run by this search; the others are from earlier ones. */
  readonly newForks?: number
  /** Recorded answers used although the request had changed. */
  readonly forcedAnswers?: number
  readonly wallMs?: number
  readonly undefinedBy: readonly { readonly reason: string; readonly count: number }[]
  readonly free: readonly string[]
}
