import type { BlameFindings, ProbePurpose, Rate, StepRole } from '@retake/tape'
import { cost, count, plural } from '../design/figures.js'
import type { BlameView } from './blame-view.js'

export const ROLE_WORDS: Readonly<Record<StepRole, string>> = {
  root: 'Alone it makes the run fail; without it, this run would not have failed then.',
  joint: 'Makes the run fail together with others; without any one of them they do not.',
  'back-up': 'Would have made the run fail without the first cause.',
  echo: 'Fails, but only repeats what a cause made of it.',
  affected: 'Changed by a cause, and harmless alone.',
  clear: 'Has nothing to do with the failure.',
  unknown: 'The search did not reach it.',
}

/** What each kind of question asked of the forks. */
export const PURPOSE_WORDS: Readonly<Record<ProbePurpose, string>> = {
  anchor: 'Does it depend on the steps at all?',
  prefix: 'Up to which step must be kept for it to fail?',
  cause: 'Which steps together are enough?',
  minimal: 'Can one of them be left out?',
  repair: 'Does it pass when the cause is free?',
  echo: 'Which steps only repeat it?',
  'back-up': 'Would it have failed without the cause?',
  audit: 'Do other coalitions agree?',
  confirm: 'Does it hold when it is asked again?',
  'one out': 'Does it pass with one step free?',
  risk: 'How does the risk rise?',
}

/** `step 2`, `steps 2 and 5`, `steps 2, 5 and 7`. */
export function stepsText(labels: readonly string[]): string {
  if (labels.length === 1) return `step ${labels[0]}`
  return `steps ${labels.slice(0, -1).join(', ')} and ${labels.at(-1)}`
}

/** What the search came to, in a sentence. */
export function verdictSentence(view: BlameView): string {
  const { verdict, causes } = view.findings
  const [first] = causes
  const named = first && stepsText(first.steps.map((place) => view.labelOf(place)))
  if (verdict === 'attributed' && first !== undefined && named !== undefined)
    return first.steps.length === 1
      ? `${capital(named)} made this run fail.`
      : `${capital(named)} together made this run fail: each of them is needed for it.`
  const soFar = named === undefined ? '' : ` So far it points to ${named}.`
  return OTHER_VERDICTS[verdict] + soFar
}

const OTHER_VERDICTS: Readonly<Record<BlameFindings['verdict'], string>> = {
  attributed: 'The failure was attributed, but no cause is named.',
  'no attributable step': 'No step can be blamed: it fails as often whatever is kept.',
  flaky: 'The unchanged run does not fail every time, and no step explains it.',
  inconclusive: 'There were not enough forks to tell.',
  stopped: 'The search was stopped before it came to a verdict.',
}

/** How sure it is that the first cause is exactly right; undefined where none is named. */
export function confidenceText({ verdict, confidence, causes }: BlameFindings): string | undefined {
  if (verdict !== 'attributed' || causes.length === 0) return undefined
  return `At least ${floorPercent(confidence)} sure, as far as forks can tell, that this is exactly the cause.`
}

/** What can be said of risk at a glance: never more than was measured. */
export function rateText({ fails, forks }: Rate): string {
  return forks === 0 ? 'not tried' : `${count(fails)} of ${count(forks)} failed`
}

/** The interval of a rate: `51–100 %`. Rounded outwards, so that it never promises more than it is. */
export const intervalText = ({ low, high }: Rate): string =>
  `${Math.floor(unit(low) * 100)}–${Math.ceil(unit(high) * 100)} %`

/** A rate is within 0 and 1, whatever a file says. */
export const unit = (value: number): number => Math.min(1, Math.max(0, value))

/** Never rounded up: `99.9 %` is not `100 %`. */
function floorPercent(value: number): string {
  const tenths = Math.floor(unit(value) * 1000)
  return `${tenths >= 990 && tenths < 1000 ? tenths / 10 : Math.floor(tenths / 10)} %`
}

/** What the search took: forks, steps, tokens, money. What is not known is called so. */
export function spentFacts({ forks }: BlameFindings): string[] {
  return [
    `${plural(forks.asked, 'fork')} asked`,
    ...(forks.served > 0 ? [`${count(forks.served)} of them stored before`] : []),
    ...(forks.undefined > 0 ? [`${count(forks.undefined)} came to no verdict`] : []),
    `${plural(forks.liveSteps, 'step')} run again`,
    forks.tokens === undefined ? 'tokens unknown' : plural(forks.tokens, 'token'),
    forks.costUsd === undefined ? 'cost unknown' : cost(forks.costUsd),
  ]
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
