import { countOf, listOf, recordOf, recordsOf, textOf, type JsonRecord } from './json-shape.js'
import { usageFromTotals, type Usage } from './usage.js'

/**
 * Gemini counts cached tokens inside the prompt, thoughts beside the
 * candidates, and what its own tools read apart from both.
 */
export const decodeGeminiUsage = (document: JsonRecord): Usage | undefined => {
  const usage = recordOf(document['usageMetadata'])
  const prompt = countOf(usage['promptTokenCount'])
  if (prompt === undefined) return undefined
  const thoughts = countOf(usage['thoughtsTokenCount']) ?? 0
  return usageFromTotals({
    allInput: prompt + (countOf(usage['toolUsePromptTokenCount']) ?? 0),
    cachedInput: countOf(usage['cachedContentTokenCount']) ?? 0,
    cacheWrite: 0,
    output: (countOf(usage['candidatesTokenCount']) ?? 0) + thoughts,
    reasoning: thoughts,
    total: countOf(usage['totalTokenCount']),
    unpriced: unpricedParts(document, usage),
  })
}

/** Kinds of tokens, tools and ways of serving that the list price of text does not cover. */
const unpricedParts = (document: JsonRecord, usage: JsonRecord): string[] => {
  const spoken = hasModality(usage['promptTokensDetails'], 'AUDIO')
  const drawn = ['AUDIO', 'IMAGE', 'VIDEO'].filter((kind) =>
    hasModality(usage['candidatesTokensDetails'], kind),
  )
  const searched = recordsOf(document['candidates']).some(
    ({ groundingMetadata }) => listOf(recordOf(groundingMetadata)['webSearchQueries']).length > 0,
  )
  const way = textOf(usage['trafficType'] ?? usage['serviceTier']).toLowerCase()
  return [
    ...(spoken ? ['audio tokens'] : []),
    ...drawn.map((kind) => `${kind.toLowerCase()} output`),
    ...(searched ? ['web searches'] : []),
    ...(['', 'on_demand', 'standard', 'traffic_type_unspecified'].includes(way)
      ? []
      : [`service tier ${way}`]),
  ]
}

/** In the order of the numbers that Vertex writes when a client asks for them. */
const MODALITIES = ['MODALITY_UNSPECIFIED', 'TEXT', 'IMAGE', 'VIDEO', 'AUDIO', 'DOCUMENT']

const hasModality = (details: unknown, modality: string): boolean =>
  recordsOf(details).some(
    ({ modality: kind, tokenCount }) =>
      (kind === modality || kind === MODALITIES.indexOf(modality)) &&
      (countOf(tokenCount) ?? 0) > 0,
  )
