import { clock, cost, count, duration, plural } from '@retake/tape/present'
import type { RunHead } from '../../model/run-head.js'
import type { StepDetail } from '../../model/step-detail.js'

/** One fact about a step, in a few words. */
export interface Fact {
  /** Its address, for links. */
  readonly path: string
  readonly name: string
  readonly value: string
  /** Nobody knows it; the value says so. */
  readonly isUnknown?: boolean
}

const UNKNOWN = 'unknown'

/** What is known about a step in numbers and names. What should be known and is not says so. */
export function factsOf(detail: StepDetail, head: RunHead): Fact[] {
  const isModel = detail.kind === 'model'
  const fact = (path: string, name: string, value: string | undefined): Fact =>
    value === undefined ? { path, name, value: UNKNOWN, isUnknown: true } : { path, name, value }
  const ms = (value: number | undefined): string | undefined =>
    value === undefined ? undefined : duration(value)
  return [
    ...(isModel
      ? [
          fact('model', 'model', detail.model),
          fact('provider', 'provider', detail.provider),
          ...tokenFacts(detail),
          fact('costUsd', 'cost', detail.costUsd === undefined ? undefined : cost(detail.costUsd)),
        ]
      : []),
    ...(detail.kind === 'mark' || detail.inferred
      ? []
      : [fact('latencyMs', 'took', detail.state === 'running' ? 'running' : ms(detail.latencyMs))]),
    ...(detail.timeToFirstChunkMs === undefined
      ? []
      : [fact('timeToFirstChunkMs', 'first piece after', ms(detail.timeToFirstChunkMs))]),
    ...(isModel ? [fact('finishReason', 'finish', detail.finishReason)] : []),
    { path: 'at', name: 'began after', value: clock(detail.at) },
    ...(detail.lane === 0
      ? []
      : [{ path: 'lane', name: 'lane', value: laneName(head, detail.lane) }]),
  ]
}

function tokenFacts({ usage }: StepDetail): Fact[] {
  if (usage === undefined)
    return [{ path: 'usage', name: 'tokens', value: UNKNOWN, isUnknown: true }]
  const { input, cachedInput, cacheWrite, output, reasoning, unpriced, mismatch } = usage
  const part = (path: string, name: string, tokens: number): Fact[] =>
    tokens === 0 ? [] : [{ path: `usage.${path}`, name, value: count(tokens) }]
  return [
    { path: 'usage.input', name: 'input', value: plural(input, 'token') },
    ...part('cachedInput', 'from cache', cachedInput),
    ...part('cacheWrite', 'to cache', cacheWrite),
    { path: 'usage.output', name: 'output', value: plural(output, 'token') },
    ...part('reasoning', 'of it reasoning', reasoning),
    ...(unpriced.length === 0
      ? []
      : [{ path: 'usage.unpriced', name: 'without a price', value: unpriced.join(', ') }]),
    ...(mismatch === undefined
      ? []
      : [{ path: 'usage.mismatch', name: "provider's numbers", value: mismatch }]),
  ]
}

const laneName = ({ lanes }: RunHead, id: number): string => {
  const name = lanes.find((lane) => lane.id === id)?.name
  return name === undefined ? String(id) : `${id}, ${name}`
}
