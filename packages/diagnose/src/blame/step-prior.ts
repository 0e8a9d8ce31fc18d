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

/** Damaged bodies tell nothing; they are told where they are shown. */
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
export const HEDGING =
  /\b(?:assum\w*|simulat\w*|hypothetical\w*|placeholder|suppose\w*|mock\w*|sample data|for the sake of|example data|dummy|pretend\w*|imagine|let's say)\b/gi

/** Longer texts are dumps. */
const TEXT_MAX = 100_000

/**
 * Set by hand: who asked for what failed first, what failed first, and who makes things
 * up. Nothing is said about early or late, or about models or tools, because measurements
 * disagree: people mark decisions, early in a run, and never a tool; re-execution finds
 * the step after which nothing could be helped, late in a run; and a tape's tools can be
 * at fault. Weights learned from people's labels are better on runs like those, and can be
 * worse than none on other agents. docs/benchmarks.md has the figures.
 */
const WEIGHTS = { isTask: -2, suspectOfFailure: 1.5, failedFirst: 1, hedging: 0.5 }

/** How likely each step of a tape is to be the cause, before any fork. */
export const stepPrior = (steps: readonly Step[]): number[] => cautiousPrior(priorSteps(steps))

/**
 * Half of the probability goes by what is seen of a step, half is spread evenly: a prior
 * that is wrong then costs a bisection about one more question than none.
 */
export const cautiousPrior = (steps: readonly PriorStep[]): number[] => {
  const { first, suspect } = findFailures(steps)
  const features = steps.map(({ role, text }, index) => ({
    isTask: Number(role === 'task'),
    suspectOfFailure: Number(index === suspect && first >= 0),
    failedFirst: Number(index === first),
    hedging: Math.log1p(text.slice(0, TEXT_MAX).match(HEDGING)?.length ?? 0),
  }))
  return rankSteps(features, WEIGHTS).map((share) => (share + 1 / steps.length) / 2)
}
