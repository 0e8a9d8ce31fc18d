import type { BlameFindings, ProbePurpose, Rate, StepRole } from '../findings/blame-findings.js'
import { count } from './figures.js'

export const ROLE_WORDS: Readonly<Record<StepRole, string>> = {
  root: 'Makes the run fail on its own; without it, this run would have passed.',
  joint: 'Makes the run fail together with others; every one of them is needed.',
  'back-up': 'Would have made the run fail without the first cause.',
  echo: 'Fails, but only repeats what a cause passed on.',
  affected: 'Changed by a cause, but harmless on its own.',
  clear: 'Not involved in the failure.',
  unknown: 'The search did not reach it.',
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

/** Findings; `nameOf` adds the tool or model of a step. */
export interface NamedFindings {
  readonly findings: BlameFindings
  readonly nameOf?: (label: string) => string | undefined
}

/** The result of a search in one sentence. */
export function verdictSentence({ findings, nameOf }: NamedFindings): string {
  const { verdict, causes, steps } = findings
  const [first, ...others] = causes
  const numbered = (labels: readonly string[]): string => stepsText(labels, findings)
  const subject = (labels: readonly string[]): string => {
    const names = labels.flatMap((label) => nameOf?.(label) ?? [])
    if (names.length === 0) return numbered(labels)
    return labels.length === 1
      ? `${numbered(labels)}, ${names[0]},`
      : `${numbered(labels)} (${names.join(', ')})`
  }
  if (verdict !== 'attributed' || first === undefined) {
    const soFar =
      first === undefined ? '' : ` So far the evidence points to ${numbered(first.steps)}.`
    return OTHER_VERDICTS[verdict] + soFar
  }
  const together = (labels: readonly string[]): string => (labels.length > 1 ? ' together' : '')
  const echoes = steps.flatMap(({ role, label }) => (role === 'echo' ? [label] : []))
  const parts = [
    `${subject(first.steps)}${together(first.steps)} made this run fail`,
    ...(echoes.length === 0
      ? []
      : [`${numbered(echoes)} only ${echoes.length === 1 ? 'repeats' : 'repeat'} it`]),
    ...others.map(
      (other) =>
        `${numbered(other.steps)}${together(other.steps)} would have made it fail without that`,
    ),
  ]
  return `${capitalized(parts.join('; '))}.`
}

const OTHER_VERDICTS: Readonly<Record<BlameFindings['verdict'], string>> = {
  attributed: 'The failure was attributed, but no cause is named.',
  'no attributable step': 'No step made this run fail.',
  flaky: 'Flaky: no step explains this failure.',
  race: 'The order of steps that overlap made this run fail.',
  inconclusive: 'Inconclusive: no step could be proven to cause the failure.',
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
  return `At least ${floorPercent(confidence)} sure that this is exactly the cause.`
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
export const intervalText = ({ low, high }: Rate): string =>
  `${Math.floor(clampRate(low) * 100)}–${Math.ceil(clampRate(high) * 100)} %`

/** A rate within 0 and 1, whatever a file says. */
export const clampRate = (value: number): number => Math.min(1, Math.max(0, value))

/** A percentage that is never rounded up: 0.99996 is `99.9 %`. */
export function floorPercent(value: number): string {
  const tenths = Math.floor(clampRate(value) * 1000)
  return `${tenths >= 990 && tenths < 1000 ? tenths / 10 : Math.floor(tenths / 10)} %`
}

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
