import type { HeaderPair } from '../../format/events.js'
import { headerValue } from '../../http/http1-body.js'
import { countOf, type JsonRecord, recordOf, recordsOf } from '../../values/json-shape.js'
import { unpricedTier } from '../usage.js'
import type { Usage } from '../usage.js'

/** The tokens of a Converse answer. Cached tokens are counted beside the input. */
export const decodeConverseUsage = (answer: JsonRecord): Usage | undefined => {
  const usage = recordOf(answer['usage'])
  const input = countOf(usage['inputTokens'])
  const output = countOf(usage['outputTokens'])
  if (input === undefined || output === undefined) return undefined
  const cachedInput = firstCount(usage, 'cacheReadInputTokens', 'cacheReadInputTokenCount') ?? 0
  const cacheWrite = firstCount(usage, 'cacheWriteInputTokens', 'cacheWriteInputTokenCount') ?? 0
  const total = countOf(usage['totalTokens'])
  // Some models leave cached tokens out of the total.
  const sums = [input + output, input + cachedInput + cacheWrite + output]
  const isOdd = total !== undefined && !sums.includes(total)
  const tier = recordOf(answer['serviceTier'])['type']
  const latency = recordOf(answer['performanceConfig'])['latency']
  return {
    input,
    cachedInput,
    cacheWrite,
    cacheWriteLong: Math.min(cacheWrite, writtenForAnHour(usage)),
    output,
    reasoning: 0,
    unpriced: [
      ...unpricedTier({ service_tier: tier }),
      ...(latency === 'optimized' ? ['optimized latency'] : []),
      ...(recordOf(answer['trace'])['guardrail'] === undefined ? [] : ['guardrail']),
      ...(ranTools(answer) ? ['tools run by the provider'] : []),
    ],
    ...(isOdd && { mismatch: `a total of ${total} where input and output make ${sums[1]}` }),
  }
}

const ranTools = ({ output }: JsonRecord): boolean =>
  recordsOf(recordOf(recordOf(output)['message'])['content']).some(
    ({ toolUse }) => recordOf(toolUse)['type'] === 'server_tool_use',
  )

const firstCount = (counts: JsonRecord, ...keys: readonly string[]): number | undefined =>
  keys.map((key) => countOf(counts[key])).find((count) => count !== undefined)

const writtenForAnHour = (usage: JsonRecord): number =>
  recordsOf(usage['cacheDetails'])
    .filter(({ ttl }) => ttl === '1h')
    .reduce((sum, { inputTokens }) => sum + (countOf(inputTokens) ?? 0), 0)

/** What Bedrock itself counts at the end of a stream, whatever the model says. */
export const METRICS = 'amazon-bedrock-invocationMetrics'

/** Usage from Bedrock's own counts: of a stream, or in the headers of an answer. */
export const meteredUsage = (
  metrics: JsonRecord,
  headers: readonly HeaderPair[] = [],
): Usage | undefined => {
  const count = (key: string, header: string): number | undefined => {
    const text = headerValue(headers, `x-amzn-bedrock-${header}`)
    return countOf(metrics[key]) ?? (text === undefined ? undefined : countOf(Number(text)))
  }
  const input = count('inputTokenCount', 'input-token-count')
  const output = count('outputTokenCount', 'output-token-count')
  if (input === undefined || output === undefined) return undefined
  return {
    input,
    cachedInput: count('cacheReadInputTokenCount', 'cache-read-input-token-count') ?? 0,
    cacheWrite: count('cacheWriteInputTokenCount', 'cache-write-input-token-count') ?? 0,
    cacheWriteLong: 0,
    output,
    reasoning: 0,
    unpriced: [],
  }
}
