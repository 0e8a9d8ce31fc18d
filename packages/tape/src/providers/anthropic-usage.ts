import { countOf, recordOf, recordsOf, textOf, type JsonRecord } from './json-shape.js'
import { unpricedTier } from './unpriced-tier.js'
import { addUsage, type Usage } from './usage.js'

/**
 * The counts of an answer leave out what was spent to shorten the conversation
 * before it, which is told beside them, and what other models were asked.
 */
export const decodeMessageUsage = (message: JsonRecord): Usage | undefined => {
  const given = recordOf(message['usage'])
  const usage = decodeUsage(given)
  if (usage === undefined) return undefined
  const rounds = recordsOf(given['iterations'])
  const shortened = rounds.filter(({ type }) => type === 'compaction').flatMap(usageOrNone)
  const others = rounds.some(({ model }) => model !== undefined && model !== message['model'])
  const ranCode = recordsOf(message['content']).some(
    ({ type, name }) => type === 'server_tool_use' && textOf(name).includes('code_execution'),
  )
  const all = shortened.reduce(addUsage, usage)
  return {
    ...all,
    unpriced: [
      ...all.unpriced,
      ...(others ? ['other models'] : []),
      ...(ranCode ? ['code execution'] : []),
    ],
  }
}

const usageOrNone = (round: JsonRecord): Usage[] => {
  const usage = decodeUsage(round)
  return usage === undefined ? [] : [usage]
}

/** The input count leaves out what was read from or written to the cache. */
const decodeUsage = (usage: JsonRecord): Usage | undefined => {
  const input = countOf(usage['input_tokens'])
  const output = countOf(usage['output_tokens'])
  if (input === undefined || output === undefined) return undefined
  const written = recordOf(usage['cache_creation'])
  const short = countOf(written['ephemeral_5m_input_tokens'])
  const long = countOf(written['ephemeral_1h_input_tokens']) ?? 0
  const cacheWrite = countOf(usage['cache_creation_input_tokens']) ?? (short ?? 0) + long
  const isOdd = short !== undefined && short + long !== cacheWrite
  const searches = countOf(recordOf(usage['server_tool_use'])['web_search_requests']) ?? 0
  return {
    input,
    cachedInput: countOf(usage['cache_read_input_tokens']) ?? 0,
    cacheWrite,
    cacheWriteLong: Math.min(long, cacheWrite),
    output,
    reasoning: countOf(recordOf(usage['output_tokens_details'])['thinking_tokens']) ?? 0,
    unpriced: [
      ...(searches > 0 ? ['web searches'] : []),
      ...(usage['speed'] === 'fast' ? ['fast mode'] : []),
      ...(usage['inference_geo'] === 'us' ? ['inference in the US'] : []),
      ...unpricedTier(usage),
    ],
    ...(isOdd && { mismatch: `${cacheWrite} cache writes where the parts make ${short + long}` }),
  }
}
