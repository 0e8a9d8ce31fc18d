import type {
  BlamedStep,
  BlameFindings,
  CauseSet,
  ForkCounts,
  BlameProbe,
  Rate,
  RiskPoint,
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
  'no attributable step',
  'flaky',
  'inconclusive',
  'stopped',
] as const satisfies readonly BlameFindings['verdict'][]
const MODES = ['free', 'frozen'] as const
const CAUSES = ['root', 'joint', 'back-up'] as const
/** Worst first: of steps at one pixel, the first of these is shown. */
export const ROLES = [
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
  'prefix',
  'cause',
  'minimal',
  'repair',
  'echo',
  'back-up',
  'audit',
  'confirm',
  'one out',
  'risk',
] as const satisfies readonly BlameProbe['purpose'][]

/** JSON has null where a number was not finite. */
const known =
  <T>(shape: Shape<T>): Shape<T | undefined> =>
  (value, path) =>
    value === null ? undefined : optional(shape)(value, path)

const rate = object<Rate>({ fails: number, forks: number, low: number, high: number })

const blamedStep = object<BlamedStep>({
  label: text,
  role: oneOf(ROLES),
  isNecessary: flag,
  isSufficient: flag,
  responsibility: number,
  alone: known(rate),
  prior: known(number),
})

const probe = object<BlameProbe>({
  purpose: oneOf(PURPOSES),
  mode: oneOf(MODES),
  kept: text,
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
  if (version > 1) throw new Error(`Its findings are of a newer version of Retake (${version})`)
  const index = check(
    `one of ${steps.length} steps`,
    (each): each is number => Number.isInteger(each) && Object.hasOwn(steps, each as number),
  )
  return object<BlameFindings>({
    version: () => 1,
    verdict: oneOf(VERDICTS),
    why: known(text),
    causes: list(
      object<CauseSet>({
        role: oneOf(CAUSES),
        steps: list(index),
        sufficiency: rate,
        shares: list(number),
      }),
    ),
    steps: () => steps,
    minimalRepair: list(index),
    decisionStep: known(index),
    commitStep: known(index),
    confidence: number,
    anchors: object({ kept: rate, free: rate }),
    riskCurve: list(
      object<RiskPoint>({ upTo: (each, at) => (each === -1 ? each : index(each, at)), rate }),
    ),
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
  if (file.version !== 1) throw new Error('It has no form that is known')
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
