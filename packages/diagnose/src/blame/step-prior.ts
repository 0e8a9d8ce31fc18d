import { type CallDetail, messageText, type Step, utf8 } from '@retake/tape'
import { asJson } from '../json-value.js'

/**
 * A step as the prior sees it: who did what, in words. Made from the steps of a
 * tape (`priorSteps`) or from any other log of a run.
 *
 * `task`: says what is to be done. `plan`: an agent that reasons about the work of
 * others. `instruction`: asks another agent to do something. `agent`: a model or an
 * agent that acts. `environment`: what a tool, a process or a server answered.
 */
export type PriorRole = 'task' | 'plan' | 'instruction' | 'agent' | 'environment'

export interface PriorStep {
  readonly role: PriorRole
  /** Who it was: an agent, a tool. */
  readonly speaker: string
  /** Text that was said or came back. */
  readonly text: string
  /** Known to have failed. Where it is missing, the words of an environment tell. */
  readonly isError?: boolean
  /** Tools that were asked for, with their arguments, as text. */
  readonly calls?: string
}

/** Roles that decide something, and can be wrong. */
export const isActing = ({ role }: PriorStep): boolean => role !== 'environment' && role !== 'task'

/** Steps of a tape as the prior sees them, one for one. What cannot be read is an empty text. */
export const priorSteps = (steps: readonly Step[]): PriorStep[] => steps.map(priorStep)

/** A model that could not answer is an environment that failed. */
const priorStep = (step: Step): PriorStep => {
  const isError = step.state !== 'done'
  const speaker = speakerOf(step)
  if (step.kind === 'mark') return { role: 'task', speaker, text: step.title }
  if (step.kind === 'model' && !isError) {
    const calls = read(() => step.toolCalls.map(({ name, args }) => `${name} ${jsonText(args)}`))
    return { role: 'agent', speaker, text: answerText(step), calls: calls?.join('\n') ?? '' }
  }
  return {
    role: 'environment',
    speaker,
    text: read(() => resultText(step)) ?? '',
    ...(isError && { isError }),
  }
}

const speakerOf = (step: Step): string => {
  const scope = step.within.at(-1)?.name
  return step.kind === 'model'
    ? (scope ?? 'model')
    : (step.toolName ?? step.title.split(' ')[0] ?? step.kind)
}

const answerText = (step: Step): string =>
  read(() => step.answer().map(messageText).join('\n')) ?? ''

const resultText = (step: Step): string => {
  const call = step.call()
  if (call !== undefined) return callText(call)
  const response = step.exchange()?.response
  return response?.text ?? step.error ?? ''
}

const callText = ({ result, error, output }: CallDetail): string =>
  [
    ...output.map(({ bytes }) => utf8(bytes) ?? ''),
    result === undefined ? '' : jsonText(result),
    error?.message ?? '',
  ].join('')

const jsonText = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(asJson(value)) ?? '')

/** Damaged bodies give no evidence; they are reported where they are shown. */
const read = <T>(reading: () => T): T | undefined => {
  try {
    return reading()
  } catch {
    return undefined
  }
}

/** Where an environment failed, and who decided what led there. */
export interface PriorFailures {
  /** For each step, true for an environment that failed. */
  readonly failed: readonly boolean[]
  /** The first failure of an environment; -1 if there is none. */
  readonly first: number
  /** The last step that decided something before the first failure, else the first that did. */
  readonly suspect: number
}

/** Words of an environment in which something failed, where no flag says so. */
const FAILED =
  /\bexit ?code:? *[1-9]|execution failed|traceback \(most recent|\b\w*(?:error|exception)\b[:(]|\b(?:4\d\d|5\d\d) (?:client|server|forbidden|not found|error)|^error\b|"error":|command not found|no such file|permission denied|timed? out/im

export const findFailures = (steps: readonly PriorStep[]): PriorFailures => {
  const failed = steps.map(
    ({ role, isError, text }) =>
      role === 'environment' && (isError ?? FAILED.test(text.slice(0, 4000))),
  )
  const first = failed.indexOf(true)
  const before = first < 0 ? -1 : steps.slice(0, first).findLastIndex(isActing)
  return { failed, first, suspect: before >= 0 ? before : Math.max(0, steps.findIndex(isActing)) }
}

/** No step is ever ruled out before a fork was run. */
const PRIOR_FLOOR = 0.001

/**
 * How likely each step is to be the cause, by numbers that describe it: a choice among
 * the steps of one run, P ∝ exp(weights · features). They add up to 1. An opinion
 * that orders forks, never a finding.
 */
export const rankSteps = <Name extends string>(
  features: readonly Readonly<Record<Name, number>>[],
  weights: Readonly<Partial<Record<Name, number>>>,
): number[] => {
  const named = Object.entries(weights) as [Name, number][]
  const scores = features.map((step) =>
    named.reduce((sum, [name, weight]) => sum + weight * step[name], 0),
  )
  const top = scores.reduce((most, score) => Math.max(most, score), -Infinity)
  const masses = toShares(scores.map((score) => Math.exp(score - top)))
  return toShares(masses.map((mass) => Math.max(mass, PRIOR_FLOOR)))
}

const toShares = (masses: readonly number[]): number[] => {
  const total = masses.reduce((sum, mass) => sum + mass, 0)
  return masses.map((mass) => mass / total)
}

/** Words of somebody who makes things up instead of looking them up; English only. */
const HEDGING =
  /\b(?:assum\w*|simulat\w*|hypothetical\w*|placeholder|suppose\w*|mock\w*|sample data|for the sake of|example data|dummy|pretend\w*|imagine|let's say)\b/gi

/** Words of somebody who takes over what was said before; English only. */
export const CONFIRMING =
  /\b(?:confirm\w*|verif(?:y|ied|ies|ication)|correct(?:ly)?|accurate(?:ly)?|agree[sd]?|consistent|valid(?:ated)?|matches)\b/gi

/** Long texts are mostly pages and dumps; their beginning and end are enough to compare. */
const COMPARED_MAX = 20_000
const TEXT_MAX = 100_000
/** An acting step that comes later than this does not answer the one before. */
const SOON = 3

/** Numbers that describe a step for the prior. Bench and product read the same. */
type PriorFeatures = ReturnType<typeof priorFeatures>[number]

/** Reads what the prior goes by, for each step of a run. */
export const priorFeatures = (steps: readonly PriorStep[]) => {
  const { failed, first } = findFailures(steps)
  const texts = steps.map(({ text, calls = '' }) => clip(`${text} ${calls}`).toLowerCase())
  const words = texts.map((text) => new Set(text.match(/\p{L}{3,}/gu)))
  const end = steps.findLastIndex((step) => isActing(step) && step.text.length > 20)
  const seen = new Set<string>()
  return steps.map((step, index) => {
    const numbers = new Set(texts[index]!.match(/\d[\d,]*(?:\.\d+)?/g)?.filter(isLong))
    const fresh = [...numbers].filter((number) => !seen.has(number.replaceAll(',', '')))
    for (const number of numbers) seen.add(number.replaceAll(',', ''))
    const next = steps.slice(index + 1, index + 1 + SOON).find(isActing)
    return {
      isTask: Number(step.role === 'task'),
      isEnvironment: Number(step.role === 'environment'),
      failedFirst: Number(index === first),
      /** Its answer is the first failure. */
      failsNextFirst: Number(first > index && isAnswered(steps, index, first) && failed[first]),
      /** The next that acts takes it over. */
      confirmingNext: countWords(next?.text ?? '', CONFIRMING),
      hedging: countWords(step.text, HEDGING),
      /** Says what the run ends with: its wrong answer is there. */
      likeEnd: end < 0 ? 0 : likeness(words[index]!, words[end]!),
      newNumberCount: Math.log1p(fresh.length),
    }
  })
}

const isLong = (number: string): boolean => number.replaceAll(',', '').length > 1

const clip = (text: string): string =>
  text.length <= COMPARED_MAX
    ? text
    : `${text.slice(0, COMPARED_MAX * 0.75)} ${text.slice(-COMPARED_MAX * 0.25)}`

const countWords = (text: string, pattern: RegExp): number =>
  Math.log1p(text.slice(0, TEXT_MAX).match(pattern)?.length ?? 0)

/** True if only environments answer between a step and a later one. */
const isAnswered = (steps: readonly PriorStep[], index: number, answer: number): boolean =>
  steps[index]?.role !== 'environment' &&
  steps.slice(index + 1, answer + 1).every(({ role }) => role === 'environment')

/** Shared words over all words of both; 0 when both are empty. */
const likeness = (left: ReadonlySet<string>, right: ReadonlySet<string>): number => {
  let shared = 0
  for (const word of left) if (right.has(word)) shared++
  const all = left.size + right.size - shared
  return all === 0 ? 0 : shared / all
}

/**
 * Learned from people's labels (bench/blame-data/train-weights.mjs), rounded, except for
 * two that are set by hand. People never mark a tool (learned: -3), but a tape's tools can
 * be at fault, and what failed first is worth a look. Nothing is said about early or late:
 * people mark decisions, early in a run; re-execution finds the step after which nothing
 * could be helped, late in a run. docs/benchmarks.md has the figures.
 */
const PRIOR_WEIGHTS: Readonly<Record<keyof PriorFeatures, number>> = {
  isTask: -0.6,
  isEnvironment: -1,
  failedFirst: 0.5,
  failsNextFirst: 1.3,
  confirmingNext: 0.9,
  hedging: 0.6,
  likeEnd: 0.9,
  newNumberCount: 0.5,
}

/** How likely each step of a tape is to be the cause, before any fork. */
export const stepPrior = (steps: readonly Step[]): number[] => cautiousPrior(priorSteps(steps))

/**
 * Half of the probability goes by what is seen of a step, half is spread evenly: a prior
 * that is wrong then costs a bisection about one more question than none.
 */
export const cautiousPrior = (steps: readonly PriorStep[]): number[] =>
  rankSteps(priorFeatures(steps), PRIOR_WEIGHTS).map((share) => (share + 1 / steps.length) / 2)
