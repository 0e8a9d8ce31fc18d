import { type CallDetail, messageText, type Step } from '@retake/tape'
import { asJson, utf8 } from '../../json-value.js'

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
  /** What was said or came back. */
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
