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
import { count, plural } from './figures.js'

export const ROLE_WORDS: Readonly<Record<StepRole, string>> = {
  root: 'Makes the run fail on its own; without it, this run would have passed.',
  joint: 'Makes the run fail together with others; every one of them is needed.',
  'back-up': 'Would have made the run fail without the first cause.',
  echo: 'Fails, but only repeats what a cause passed on.',
  affected: 'Changed by a cause, but harmless on its own.',
  clear: 'Not involved in the failure.',
  unknown: 'The search cannot tell.',
}

/** The question that each kind of probe answers. */
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

/** Findings, and words for their steps. */
export interface NamedFindings {
  readonly findings: BlameFindings
  /** What a step did: `the model called get_order with id 1128`. */
  readonly nameOf?: (label: string) => string | undefined
  /** How it was answered where it was free: `with days 30 instead of 90`. */
  readonly freeOf?: (label: string) => string | undefined
}

/** The result of a search in one sentence, in the words of what was tested. */
export function verdictSentence(named: NamedFindings): string {
  const { findings } = named
  const { verdict, causes, steps, race } = findings
  const [first, ...others] = causes
  const numbered = (labels: readonly string[]): string => stepsText(labels, findings)
  if (verdict === 'race' && race !== undefined) return `A race: ${race.text}`
  if (verdict !== 'attributed' || first === undefined) {
    const soFar =
      first === undefined ? '' : ` So far the evidence points to ${causeText(first, findings)}.`
    return OTHER_VERDICTS[verdict] + soFar
  }
  const echoes = steps.flatMap(({ role, label }) => (role === 'echo' ? [label] : []))
  const parts = [
    causeSentence(first, named),
    ...(echoes.length === 0
      ? []
      : [`${numbered(echoes)} only ${echoes.length === 1 ? 'repeats' : 'repeat'} it`]),
    ...others.map(
      (other) =>
        `${causeText(other, findings)}${together(other)} would have made it fail without that`,
    ),
  ]
  return `${capitalized(parts.join('; '))}.`
}

/** Answers that say nothing, or are made up: the run depends on them, but they need not be wrong. */
const DEPENDENCE: Readonly<Partial<Record<StepIntervention, string>>> = {
  neutral: 'if it says nothing',
  empty: 'if it returns nothing',
  error: 'if it fails',
  field: 'with another value in its answer',
}

/**
 * Role of a step in a word or two. A cause that only shows dependence is `needed`: that its
 * answer was wrong is not known.
 */
export function roleWord({
  role,
  intervention,
}: Pick<BlamedStep, 'role' | 'intervention'>): string {
  if (role === 'unknown') return 'cannot tell'
  const isCause = role === 'root' || role === 'joint' || role === 'back-up'
  return isCause && intervention && DEPENDENCE[intervention] !== undefined ? 'needed' : role
}

/** True if a cause shows only that the failure depends on a step, not that its answer was wrong. */
export const isDependence = ({ steps }: CauseSet, findings: BlameFindings): boolean =>
  steps.some((label) => dependenceOf(label, findings) !== undefined)

const dependenceOf = (label: string, { steps }: BlameFindings): string | undefined => {
  const { intervention } = steps.find((step) => step.label === label) ?? {}
  return intervention && DEPENDENCE[intervention]
}

function causeSentence(cause: CauseSet, { findings, nameOf, freeOf }: NamedFindings): string {
  const subject = causeText(cause, findings, nameOf)
  if (!isDependence(cause, findings)) return `${subject}${together(cause)} made this run fail`
  const hows = cause.steps.flatMap((label) => {
    const how = dependenceOf(label, findings)
    const free = freeOf?.(label)
    return how === undefined ? [] : [free?.startsWith('with ') === true ? free : how]
  })
  return `the failure depends on ${subject}: ${[...new Set(hows)].join(' and ')}, the run passes`
}

const together = ({ steps, ambient = [] }: CauseSet): string =>
  steps.length + ambient.length > 1 ? ' together' : ''

/** The members of a cause: `the clock read at agent.ts:31 and step 4 (…)`. */
export function causeText(
  { steps, ambient = [] }: CauseSet,
  findings: BlameFindings,
  nameOf?: NamedFindings['nameOf'],
): string {
  const inputs = ambient.flatMap((index) => findings.ambient[index] ?? []).map(ambientText)
  const names = steps.map((label) => nameOf?.(label))
  const named =
    steps.length === 0
      ? []
      : steps.length <= LISTED_MAX && names.every((name) => name !== undefined)
        ? steps.map((label, index) => `step ${label} (${names[index]})`)
        : [stepsText(steps, findings)]
  const members = [...inputs, ...named]
  const last = members.pop() ?? 'nothing'
  return members.length === 0 ? last : `${members.join(', ')} and ${last}`
}

/** An input that is not a step, as a noun: `the clock read at agent.ts:31 (Saturday, 14 Nov 2026 23:10)`. */
export function ambientText({ kind, name, value, site, steps = [] }: AmbientInput): string {
  const at = site === undefined ? '' : ` at ${site}`
  const shown = value === undefined ? '' : ` (${value})`
  if (kind === 'clock') return `the clock read${at}${shown}`
  if (kind === 'random') return `the random value drawn${at}${shown}`
  if (kind === 'environment') return `the variable ${name}${shown}`
  if (kind === 'order') return `the order of ${stepsText(steps, { steps: [] })}`
  return `the file ${name}${shown}`
}

/** The change that was run and passed, with its rate; undefined if none was. */
export function repairSentence(findings: BlameFindings): string | undefined {
  const { repair } = findings
  if (repair === undefined) return undefined
  const { passes, forks } = repair.rate
  const inputs = (repair.ambient ?? []).flatMap((index) => findings.ambient[index] ?? [])
  const changed = [
    ...inputs.map((input) => `${ambientText(input)} had been as it is now`),
    ...(repair.steps.length === 0
      ? []
      : [`${stepsText(repair.steps, findings)} had answered otherwise`]),
  ].join(' and ')
  if (changed === '') return undefined
  if (forks === 0) return `If ${changed}, the run might have passed. That was not tried.`
  const often = `${count(passes)} of ${plural(forks, 'time')} (${intervalText(repair.rate)})`
  return `If ${changed}, the run would have passed ${often}.`
}

/** Why no step is named, from how often the run failed. */
export function unexplainedText({ anchors }: BlameFindings): string {
  const { pinned, free } = anchors
  if (pinned.forks > 0 && pinned.fails === 0) return 'The unchanged run passes by this oracle.'
  return `Run again from the start, the agent failed ${rateText(free)} times.`
}

const OTHER_VERDICTS: Readonly<Record<BlameFindings['verdict'], string>> = {
  attributed: 'The failure was attributed, but no cause is named.',
  'no attributable step': 'No step explains this failure.',
  flaky: 'Flaky: no step explains this failure.',
  race: 'A race: the order of steps that overlap made this run fail.',
  inconclusive: 'Cannot tell: no step could be proven to cause the failure.',
  stopped: 'Stopped before a verdict.',
}

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

/** Rising indexes as ranges of labels: `1–5, 8`. */
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

/** How certain it is that the first cause is exactly right; undefined if none is named. */
export function confidenceText({ verdict, confidence, causes }: BlameFindings): string | undefined {
  if (verdict !== 'attributed' || causes.length === 0) return undefined
  const what =
    causes[0]?.steps.length === 1 && !causes[0].ambient
      ? 'it is this step and no other'
      : 'this is exactly the cause'
  return `At least ${floorPercent(confidence)} sure that ${what}, if free steps behave as in these forks.`
}

/** Failures among forks: `5 of 6`. */
export const rateText = (rate: Pick<Rate, 'fails' | 'forks'> | undefined): string =>
  rate === undefined || rate.forks === 0
    ? 'not tried'
    : `${count(rate.fails)} of ${count(rate.forks)}`

/** The same outside of a column that says what is counted: `5 of 6 failed`. */
export const failuresText = (rate: Pick<Rate, 'fails' | 'forks'>): string =>
  rate.forks === 0 ? rateText(rate) : `${rateText(rate)} failed`

/** Confidence interval of a rate: `51–100 %`, rounded outwards so that it never promises too much. */
export const intervalText = ({ low, high }: Pick<Rate, 'low' | 'high'>): string =>
  `${Math.floor(clampRate(low) * 100)}–${Math.ceil(clampRate(high) * 100)} %`

/** A rate within 0 and 1, whatever a file says. */
export const clampRate = (value: number): number => Math.min(1, Math.max(0, value))

/** A percentage that is never rounded up: 0.99996 is `99.9 %`. */
export function floorPercent(value: number): string {
  const tenths = Math.floor(clampRate(value) * 1000)
  return `${tenths >= 990 && tenths < 1000 ? tenths / 10 : Math.floor(tenths / 10)} %`
}

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
