/** The fields of a step in `retake show --json` that the contract suite looks at. */
export interface ShownStep {
  readonly kind: string
  readonly state: string
  readonly error?: string
  readonly title: string
  readonly inferred: boolean
  readonly provider?: string
  readonly model?: string
  readonly toolCalls: readonly { readonly name: string; readonly args: unknown }[]
  readonly usage?: Readonly<Record<string, number>>
  readonly costUsd?: number
  readonly finishReason?: string
}

const CLASSES = [
  ['input', 'in'],
  ['cachedInput', 'cached'],
  ['cacheWrite', 'written'],
  ['output', 'out'],
  ['reasoning', 'thought'],
] as const

/**
 * A step on one line, with everything that a provider's decoder has to get right:
 *
 *     openai gpt-4o-mini: calls find_order {"id":"1182"}, tool_calls, 120 in 40 cached 20 out, 33 µ$
 *
 * Cost is in millionths of a dollar; `?` when it is unknown.
 */
export function stepLine(step: ShownStep): string {
  if (step.kind !== 'model') return `${step.kind}: ${step.title}`.replace(/http:\/\/[\d.:]+/, '')
  const { state, error, toolCalls, finishReason, usage, costUsd } = step
  const calls = toolCalls.map(({ name, args }) => `${name} ${JSON.stringify(args)}`)
  const facts = [
    ...(state === 'done' ? [] : [`${state}${error === undefined ? '' : ` (${statusOf(error)})`}`]),
    ...(calls.length === 0 ? [] : [`calls ${calls.join(' and ')}`]),
    ...(finishReason === undefined ? [] : [finishReason]),
    ...(usage === undefined ? [] : [usageText(usage)]),
    ...(usage === undefined ? [] : [`${costUsd === undefined ? '?' : microUsd(costUsd)} µ$`]),
  ]
  return `${step.provider} ${step.model}: ${facts.join(', ')}`
}

/** Before a retry, the provider's message is on the tape only if it came before the SDK gave up. */
const statusOf = (error: string): string => error.replace(/^(429 [^:]*):.*/, '$1')

const usageText = (usage: Readonly<Record<string, number>>): string =>
  CLASSES.filter(([name]) => (usage[name] ?? 0) > 0)
    .map(([name, word]) => `${usage[name]} ${word}`)
    .join(' ')

const microUsd = (usd: number): number => Number((usd * 1e6).toFixed(3))
