import { countOf, isRecord, type JsonRecord, recordOf, recordsOf } from '../../values/json-shape.js'
import { unpricedTier, type Usage, usageFromTotals } from '../usage.js'
import type { HeaderPair } from '../../format/events.js'
import { headerValue } from '../../http/http1-body.js'

/** What LiteLLM says a call cost. It says 0 for a model that it has no price for. */
export const headerCost = (headers: readonly HeaderPair[] = []): number | undefined => {
  const cost = Number(headerValue(headers, 'x-litellm-response-cost') ?? Number.NaN)
  return Number.isFinite(cost) && cost > 0 ? cost : undefined
}

/** The tokens of a chat completion, with the words that compatible servers have for them. */
export const decodeChatUsage = (completion: JsonRecord): Usage | undefined => {
  const usage = usageRecord(completion)
  const allInput = countOf(usage['prompt_tokens'])
  const said = countOf(usage['completion_tokens'])
  if (allInput === undefined || said === undefined) return undefined
  const inputDetails = recordOf(usage['prompt_tokens_details'])
  const outputDetails = recordOf(usage['completion_tokens_details'])
  const total = countOf(usage['total_tokens'])
  const reasoning =
    countOf(outputDetails['reasoning_tokens']) ?? countOf(usage['reasoning_tokens']) ?? 0
  // xAI counts reasoning beside the completion, all others inside it; the total tells which.
  const isBeside = reasoning > 0 && total === allInput + said + reasoning
  return usageFromTotals({
    allInput,
    cachedInput:
      countOf(inputDetails['cached_tokens']) ?? countOf(usage['prompt_cache_hit_tokens']) ?? 0,
    cacheWrite:
      countOf(inputDetails['cache_write_tokens']) ??
      countOf(usage['cache_creation_input_tokens']) ??
      0,
    output: isBeside ? said + reasoning : said,
    reasoning,
    total,
    unpriced: [...unpricedParts(completion, inputDetails, outputDetails)],
  })
}

/** Groq puts the usage of a stream where OpenAI's clients do not look for it. */
const usageRecord = (completion: JsonRecord): JsonRecord => {
  const { usage, x_groq } = completion
  return isRecord(usage) ? usage : recordOf(recordOf(x_groq)['usage'])
}

const unpricedParts = (
  completion: JsonRecord,
  input: JsonRecord,
  output: JsonRecord,
): readonly string[] => {
  const audio = (countOf(input['audio_tokens']) ?? 0) + (countOf(output['audio_tokens']) ?? 0)
  const ran = recordsOf(completion['choices']).some(
    ({ message }) => recordsOf(recordOf(message)['executed_tools']).length > 0,
  )
  return [
    ...(audio > 0 ? ['audio tokens'] : []),
    ...(ran ? ['tools run by the provider'] : []),
    // Mistral says the tier among the counts.
    ...unpricedTier({ ...usageRecord(completion), ...completion }),
  ]
}

/** xAI counts what it charges in ticks. */
const TICKS_A_DOLLAR = 1e10

/**
 * What the answer itself says it cost. OpenRouter counts in dollars; with a key
 * of the user's own it charges a fee, and the model's price on top is told apart.
 */
export const reportedCost = (completion: JsonRecord): number | undefined => {
  const usage = usageRecord(completion)
  const ticks = countOf(usage['cost_in_usd_ticks'])
  if (ticks !== undefined) return ticks / TICKS_A_DOLLAR
  const cost = countOf(usage['cost'])
  if (cost === undefined || usage['is_byok'] !== true) return cost
  const upstream = countOf(recordOf(usage['cost_details'])['upstream_inference_cost'])
  return upstream === undefined ? undefined : cost + upstream
}
