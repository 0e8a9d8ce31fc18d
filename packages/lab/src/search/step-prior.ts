import { attempt, messageText, type Step, utf8 } from '@retake/tape'
import { asJson } from '@retake/tape/diff'

/**
 * A step as the prior sees it: who did what, in words. Made from the steps of a tape (`priorSteps`)
 * or from any other log of a run.
 *
 * `task`: states the task. `plan`: an agent that reasons about the work of others. `instruction`:
 * gives work to another agent. `agent`: a model or an agent that acts. `environment`: the answer of
 * a tool, a process or a server.
 */
export type PriorRole = 'task' | 'plan' | 'instruction' | 'agent' | 'environment'

export interface PriorStep {
  readonly role: PriorRole
  readonly speaker: string
  readonly text: string
  /** True if the step failed. If missing, the words of an environment decide. */
  readonly isError?: boolean
  /** Requested tool calls with their arguments, as text. */
  readonly calls?: string
}

/** Roles that decide something, and can be wrong. */
export const isActing = ({ role }: PriorStep): boolean => role !== 'environment' && role !== 'task'

/** Converts steps of a tape, one to one. Unreadable content becomes an empty text. */
export const priorSteps = (steps: readonly Step[]): PriorStep[] => steps.map(priorStep)

/** A model that failed to answer counts as a failed environment. */
const priorStep = (step: Step): PriorStep => {
  const isError = step.state !== 'done'
  const scope = step.within.at(-1)?.name
  const speaker =
    step.kind === 'model'
      ? (scope ?? 'model')
      : (step.toolName ?? step.title.split(' ')[0] ?? step.kind)
  if (step.kind === 'mark') return { role: 'task', speaker, text: step.title }
  if (step.kind === 'model' && !isError) {
    const calls = attempt(() => step.toolCalls.map(({ name, args }) => `${name} ${jsonText(args)}`))
    const text = attempt(() => step.answer().map(messageText).join('\n')) ?? ''
    return { role: 'agent', speaker, text, calls: calls?.join('\n') ?? '' }
  }
  return {
    role: 'environment',
    speaker,
    text:
      attempt(() => {
        const call = step.call()
        if (call === undefined) return step.exchange()?.response?.text ?? step.error ?? ''
        const { result, error, output } = call
        const printed = output.map(({ bytes }) => utf8(bytes) ?? '').join('')
        return printed + (result === undefined ? '' : jsonText(result)) + (error?.message ?? '')
      }) ?? '',
    ...(isError && { isError }),
  }
}

const jsonText = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(asJson(value)) ?? '')

/** Words that suggest a failed environment, used if no flag says so. */
const FAILED =
  /\bexit ?code:? *[1-9]|execution failed|traceback \(most recent|\b\w*(?:error|exception)\b[:(]|\b(?:4\d\d|5\d\d) (?:client|server|forbidden|not found|error)|^error\b|"error":|command not found|no such file|permission denied|timed? out/im

/**
 * `failed`: for each step, true if it is an environment that failed. `first`: index of the first
 * such step, or -1. `suspect`: the last deciding step before it, or else the first deciding step.
 */
export const findFailures = (steps: readonly PriorStep[]) => {
  const failed = steps.map(
    ({ role, isError, text }) =>
      role === 'environment' && (isError ?? FAILED.test(text.slice(0, 4000))),
  )
  const first = failed.indexOf(true)
  const before = first < 0 ? -1 : steps.slice(0, first).findLastIndex(isActing)
  return { failed, first, suspect: before >= 0 ? before : Math.max(0, steps.findIndex(isActing)) }
}

/** Minimum probability, so that no step is ruled out before a fork. */
const PRIOR_FLOOR = 0.001

/**
 * Probability that each step is the cause, from its features: a choice among the steps of one run,
 * P ∝ exp(weights · features). Sums to 1. Orders forks and is never a finding.
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

/** Words that suggest guessing instead of looking things up. English only. */
const HEDGING =
  /\b(?:assum\w*|simulat\w*|hypothetical\w*|placeholder|suppose\w*|mock\w*|sample data|for the sake of|example data|dummy|pretend\w*|imagine|let's say)\b/gi

/** Words that accept an earlier statement. English only. */
export const CONFIRMING =
  /\b(?:confirm\w*|verif(?:y|ied|ies|ication)|correct(?:ly)?|accurate(?:ly)?|agree[sd]?|consistent|valid(?:ated)?|matches)\b/gi

/** Longer texts are mostly pages and dumps, so only their beginning and end are compared. */
const COMPARED_MAX = 20_000
const TEXT_MAX = 100_000
/** An acting step further away is not a reaction to this one. */
const MAX_REACTION_STEPS = 3

/** Features of a step for the prior. The benchmark uses the same. */
type PriorFeatures = ReturnType<typeof priorFeatures>[number]

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
    const next = steps.slice(index + 1, index + 1 + MAX_REACTION_STEPS).find(isActing)
    return {
      isTask: Number(step.role === 'task'),
      isEnvironment: Number(step.role === 'environment'),
      failedFirst: Number(index === first),
      /** 1 if the answer to this step is the first failure. */
      failsNextFirst: Number(first > index && isAnswered(steps, index, first) && failed[first]),
      /** How strongly the next acting step confirms this one. */
      confirmingNext: countWords(next?.text ?? '', CONFIRMING),
      hedging: countWords(step.text, HEDGING),
      /** Similarity to the end of the run, which contains the wrong answer. */
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

/** True if all steps up to the answer are environments. */
const isAnswered = (steps: readonly PriorStep[], index: number, answer: number): boolean =>
  steps[index]?.role !== 'environment' &&
  steps.slice(index + 1, answer + 1).every(({ role }) => role === 'environment')

/** Jaccard similarity: shared words divided by all words; 0 if both are empty. */
const likeness = (left: ReadonlySet<string>, right: ReadonlySet<string>): number => {
  let shared = 0
  for (const word of left) if (right.has(word)) shared++
  const all = left.size + right.size - shared
  return all === 0 ? 0 : shared / all
}

/**
 * Learned from human labels (bench/blame-data/train-weights.mjs) and rounded, except for two that
 * are set by hand. People never mark a tool (learned: -3), but tools on a tape can be at fault, and
 * the first failure is worth a look. Early and late steps weigh the same: people mark decisions,
 * which come early; re-execution finds the point of no return, which comes late. The figures are in
 * bench/notes/accuracy.md.
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

/** Probability that each step of a tape is the cause, before any fork. */
export const stepPrior = (steps: readonly Step[]): number[] => cautiousPrior(priorSteps(steps))

/**
 * Half of the probability depends on features and half is uniform, so a wrong prior costs a
 * bisection only about one query more than no prior.
 */
export const cautiousPrior = (steps: readonly PriorStep[]): number[] =>
  rankSteps(priorFeatures(steps), PRIOR_WEIGHTS).map((share) => (share + 1 / steps.length) / 2)
