import type {
  AmbientInput,
  BlamedStep,
  BlameFindings,
  CauseSet,
  ProbePurpose,
  Rate,
  StepIntervention,
  StepRole,
} from '../findings/blame-findings.js'
import { count } from './figures.js'

export const ROLE_WORDS: Readonly<Record<StepRole, string>> = {
  root: 'Makes the run fail on its own; without it, this run would have passed.',
  joint: 'Makes the run fail together with others; every one of them is needed.',
  'back-up': 'Would have made the run fail without the first cause.',
  echo: 'Fails, but only repeats what a cause passed on.',
  affected: 'Changed by a cause, but harmless on its own.',
  clear: 'Not involved in the failure.',
  unknown: 'Not reached, or not decided if it only repeats a cause.',
}

export const PURPOSE_WORDS: Readonly<Record<ProbePurpose, string>> = {
  anchor: 'Does the failure depend on the steps at all?',
  ambient: 'Does it depend on the clock, random values, files or variables?',
  prefix: 'Up to which step must be pinned for it to fail?',
  cause: 'Which steps together are enough?',
  minimal: 'Can one of them be left out?',
  repair: 'Does it pass when the cause is re-run?',
  echo: 'Which steps only repeat it?',
  transplant: 'Does it fail with what a step said when the cause was repaired?',
  'back-up': 'Would it have failed without the cause?',
  audit: 'Do other coalitions agree?',
  confirm: 'Is the result the same in new forks?',
  'one out': 'Does it pass when one step is re-run?',
  risk: 'How does the risk rise?',
}

export interface NamedFindings {
  readonly findings: BlameFindings
  /** Description of a step: `the model called get_order with id 1128`. */
  readonly nameOf?: (label: string) => string | undefined
  /** How it was answered where it was free: `with days 30 instead of 90`. */
  readonly freeOf?: (label: string) => string | undefined
}

/** What is stored about a searched step. */
export interface SearchedStepWords {
  readonly label: string
  /** Kind and name: `tool search_policy`. */
  readonly name?: string | undefined
  /** Its action in a sentence: `the model called get_order with id 1128`. */
  readonly did?: string | undefined
  /** How it was answered while free. */
  readonly free?: string | undefined
}

/** A cause is named by what it did; what never changes, by its tool or model. */
export function namedFindings(
  findings: BlameFindings,
  steps: readonly SearchedStepWords[],
): NamedFindings {
  const byLabel = new Map(steps.map((step) => [step.label, step]))
  const word = findings.verdict === 'no attributable step' ? 'name' : 'did'
  return {
    findings,
    nameOf: (label) => byLabel.get(label)?.[word],
    freeOf: (label) => byLabel.get(label)?.free,
  }
}

/** The result of a search in one sentence, or two if the reader has to do something. */
export function verdictSentence(named: NamedFindings): string {
  const { findings } = named
  const { verdict, causes } = findings
  const [first, ...others] = causes
  if (verdict === 'no attributable step') return noStepSentence(named)
  if (verdict === 'race' && findings.race !== undefined) return `A race: ${findings.race.text}`
  if (first === undefined || verdict === 'inconclusive' || verdict === 'flaky') {
    return OTHER_VERDICTS[verdict]
  }
  if (verdict === 'stopped') {
    return `${OTHER_VERDICTS.stopped} Proven so far: ${causeText(first, named)} made it fail.`
  }
  const echoes = findings.steps.flatMap(({ role, label }) => (role === 'echo' ? [label] : []))
  const repeats = `${stepsText(echoes, findings)} only ${echoes.length === 1 ? 'repeats' : 'repeat'} it`
  const parts = [
    mainClause(first, named),
    ...(echoes.length === 0 ? [] : [repeats]),
    ...others.map(
      (other) => `${causeText(other, { findings })} would have made it fail without that`,
    ),
  ]
  return `${capitalized(parts.join('; '))}.`
}

const OTHER_VERDICTS: Readonly<Record<BlameFindings['verdict'], string>> = {
  attributed: 'The failure was attributed, but no cause is named.',
  dependence: 'The failure depends on a step, but none is named.',
  race: 'The order of steps that overlap made this run fail.',
  'no attributable step': 'No step explains this failure.',
  flaky: 'Flaky: no step explains this failure.',
  inconclusive: 'Cannot tell: no step could be proven to cause the failure.',
  stopped: 'Stopped before a verdict.',
}

/** Neutral or made-up answers: the run depends on the step, but its recorded answer need not be wrong. */
const DEPENDENCE: Readonly<Partial<Record<StepIntervention, string>>> = {
  neutral: 'if it says nothing',
  empty: 'if it returns nothing',
  error: 'if it fails',
  field: 'with another value in its answer',
}

const dependenceOf = (label: string, { steps }: BlameFindings): string | undefined => {
  const { intervention } = steps.find((step) => step.label === label) ?? {}
  return intervention && DEPENDENCE[intervention]
}

/** True if a cause shows only that the failure depends on a step, not that its answer was wrong. */
export const isDependence = ({ steps }: CauseSet, findings: BlameFindings): boolean =>
  steps.some((label) => dependenceOf(label, findings) !== undefined)

/** True if `causes` names a cause or a dependence of the failure. */
export const namesCauses = ({ verdict }: Pick<BlameFindings, 'verdict'>): boolean =>
  verdict === 'attributed' || verdict === 'dependence'

/**
 * Role of a step in a word or two. A cause that only shows dependence is `needed`, because its
 * answer is not known to be wrong.
 */
export function roleWord({
  role,
  intervention,
}: Pick<BlamedStep, 'role' | 'intervention'>): string {
  if (role === 'unknown') return 'cannot tell'
  const isCause = role === 'root' || role === 'joint' || role === 'back-up'
  return isCause && intervention && DEPENDENCE[intervention] !== undefined ? 'needed' : role
}

/** States only what was tested about the first cause. */
function mainClause(cause: CauseSet, named: NamedFindings): string {
  const { findings, freeOf } = named
  const text = causeText(cause, named)
  if (findings.verdict === 'race') return `a race: ${text} made this run fail`
  if (!isDependence(cause, findings)) return `${text} made this run fail`
  const hows = cause.steps.flatMap((label) => {
    const how = dependenceOf(label, findings)
    const free = freeOf?.(label)
    return how === undefined ? [] : [free?.startsWith('with ') === true ? free : how]
  })
  return `the failure depends on ${text}: ${[...new Set(hows)].join(' and ')}, the run passes`
}

/** Steps and ambient inputs of a cause: `steps 3 and 5 together`. */
export function causeText(
  { steps, ambient = [] }: CauseSet,
  { findings, nameOf }: NamedFindings,
): string {
  const inputs = ambient.flatMap((index) => findings.ambient[index] ?? [])
  const names = steps.flatMap((label) => nameOf?.(label) ?? [])
  const isNamed = names.length === steps.length && steps.length <= LISTED_MAX
  const listed = isNamed
    ? steps.map((label, index) => `step ${label} (${names[index]})`)
    : [stepsText(steps, findings)]
  const parts = [...(steps.length === 0 ? [] : listed), ...inputs.map(ambientText)]
  return `${listText(parts)}${steps.length + inputs.length > 1 ? ' together' : ''}`
}

/** An ambient input in words: `the clock read at agent.ts:31 (Saturday)`. */
export function ambientText({ kind, name, value, site, steps = [] }: AmbientInput): string {
  const at = site === undefined ? '' : ` at ${site}`
  const was = value === undefined ? '' : ` (${value})`
  switch (kind) {
    case 'clock':
      return `the clock read${at}${was}`
    case 'random':
      return `the random value drawn${at}${was}`
    case 'file':
      return `the file ${name}${was}`
    case 'environment':
      return `the environment variable ${name}${was}`
    case 'order':
      return steps.length === 0 ? name : `the order of ${stepsText(steps, { steps: [] })}`
  }
}

/** Says where to look instead: code, prompt, and tools that were free and always gave the same answer. */
function noStepSentence({ findings, nameOf }: NamedFindings): string {
  const { pinned, free } = findings.anchors
  if (pinned.fails === 0 || free.forks === 0) return OTHER_VERDICTS['no attributable step']
  const names = findings.steps.flatMap(({ isUnchanged, label }) =>
    isUnchanged ? [nameOf?.(label) ?? `step ${label}`] : [],
  )
  const same = [...new Set(names)]
  // More names than these are nearly all steps, which points nowhere.
  const isShort = same.length > 0 && same.length < LISTED_MAX
  const which = isShort ? `, or at what always answers the same (${same.join(', ')})` : ''
  return `No step explains this failure: look at the prompt and the code${which}.`
}

/** The tested repair, and how often it passed; undefined if none was tested. */
export function repairSentence(
  findings: BlameFindings,
  freeOf?: NamedFindings['freeOf'],
): string | undefined {
  const { repair } = findings
  if (repair === undefined) return undefined
  const { steps, ambient = [], rate } = repair
  const inputs = ambient.flatMap((index) => findings.ambient[index] ?? [])
  if (rate.forks === 0) {
    const all = [
      ...(steps.length === 0 ? [] : [stepsText(steps, findings)]),
      ...inputs.map(ambientText),
    ]
    return `To repair: ${listText(all)}. That was not run.`
  }
  const often = `${count(rate.passes)} of ${count(rate.forks)} times (${intervalText(rate)})`
  const done = [...answeredTexts(steps, findings, freeOf), ...inputs.map(liveText)]
  return `With ${listText(done)}, the run passed ${often}.`
}

/** How the steps of a repair were answered: `step 3 asked again`, `step 5 answered as in run …`. */
function answeredTexts(
  labels: readonly string[],
  findings: BlameFindings,
  freeOf: NamedFindings['freeOf'],
): string[] {
  const byAnswer = new Map<string, string[]>()
  for (const label of labels) {
    const { intervention } = findings.steps.find((step) => step.label === label) ?? {}
    const free = freeOf?.(label)
    const answer =
      intervention === undefined || intervention === 'live'
        ? 'asked again'
        : intervention === 'field' && free !== undefined
          ? `answered ${free}`
          : ANSWERED[intervention](free)
    byAnswer.set(answer, [...(byAnswer.get(answer) ?? []), label])
  }
  return [...byAnswer].map(([answer, steps]) => `${stepsText(steps, findings)} ${answer}`)
}

const ANSWERED: Readonly<Record<StepIntervention, (free: string | undefined) => string>> = {
  live: () => 'asked again',
  given: () => 'answered as --free says',
  sibling: (free) => `answered ${free ?? 'as in a run that passed'}`,
  recorded: (free) => `answered ${free ?? 'as in another run'}`,
  simulated: (free) => `answered ${free ?? 'by the simulator'}`,
  neutral: () => 'saying nothing',
  empty: () => 'returning nothing',
  error: () => 'failing',
  field: () => 'answered with another value in one field',
  pinned: () => 'answered as recorded',
}

/** An input that is not as recorded: `PARCEL_MODE not set instead of strict`, `the clock … live`. */
function liveText(input: AmbientInput): string {
  const { kind, name, value, now } = input
  return kind === 'environment' && now !== undefined
    ? `${name} ${now} instead of ${value ?? 'as recorded'}`
    : kind === 'order'
      ? 'answers in another order'
      : `${ambientText(input)} as it is now`
}

/** `a`, `a and b`, `a, b and c`. */
export const listText = (parts: readonly string[]): string =>
  parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`

/** Longer lists of steps are written as ranges. */
const LISTED_MAX = 4

/** `step 4`, `steps 4 and 7`, `steps 4, 7 and 9`, `steps 4–11, 14`. */
export function stepsText(
  labels: readonly string[],
  { steps }: { readonly steps: readonly { readonly label: string }[] },
): string {
  if (labels.length > LISTED_MAX) {
    const order = steps.map(({ label }) => label)
    const indexes = labels.map((label) => order.indexOf(label)).toSorted((a, b) => a - b)
    return `steps ${labelRanges(indexes, order)}`
  }
  const listed = [...labels]
  const last = listed.pop() ?? '?'
  return listed.length === 0 ? `step ${last}` : `steps ${listed.join(', ')} and ${last}`
}

/** Ascending indexes as ranges of labels: `1–5, 8`. */
export function labelRanges(indexes: readonly number[], labels: readonly string[]): string {
  const ranges: [first: number, last: number][] = []
  for (const index of indexes) {
    const range = ranges.at(-1)
    if (range !== undefined && index === range[1] + 1) range[1] = index
    else ranges.push([index, index])
  }
  const label = (index: number): string => labels[index] ?? '?'
  return ranges
    .map(([first, last]) => (first === last ? label(first) : `${label(first)}–${label(last)}`))
    .join(', ')
}

/** Confidence that the first cause is exactly right; undefined if nothing is claimed. */
export function confidenceText({ verdict, confidence, causes }: BlameFindings): string | undefined {
  const isFinal = namesCauses({ verdict }) || verdict === 'race'
  if (!isFinal || causes.length === 0 || confidence === 0) return undefined
  if (verdict === 'dependence')
    return `At least ${floorPercent(confidence)} sure that the failure depends on it. Its answer may still be correct.`
  return `At least ${floorPercent(confidence)} sure that it is this and nothing else, if free steps behave as in these forks.`
}

/** Failures among forks: `5 of 6`. */
export const rateText = (rate: Pick<Rate, 'fails' | 'forks'> | undefined): string =>
  rate === undefined || rate.forks === 0
    ? 'not tried'
    : `${count(rate.fails)} of ${count(rate.forks)}`

/** The same without a column heading: `5 of 6 failed`. */
export const failuresText = (rate: Pick<Rate, 'fails' | 'forks'>): string =>
  rate.forks === 0 ? rateText(rate) : `${rateText(rate)} failed`

/** Confidence interval of a rate, rounded outwards: `51–100 %`. */
export const intervalText = ({ low, high }: Pick<Rate, 'low' | 'high'>): string =>
  `${Math.floor(clampRate(low) * 100)}–${Math.ceil(clampRate(high) * 100)} %`

/** Clamps a rate to 0–1, because a file may contain anything. */
export const clampRate = (value: number): number => Math.min(1, Math.max(0, value))

/** A percentage that is never rounded up: 0.99996 is `99.9 %`. */
export function floorPercent(value: number): string {
  const tenths = Math.floor(clampRate(value) * 1000)
  return `${tenths >= 990 && tenths < 1000 ? tenths / 10 : Math.floor(tenths / 10)} %`
}

export const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
