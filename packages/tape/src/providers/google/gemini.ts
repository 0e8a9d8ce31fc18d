import { contentAnswers, scriptedContent } from './encode.js'
import { CallNumbers } from '../call-numbers.js'
import { assembleContent } from './stream.js'
import { decodeContents, decodeParts } from './content.js'
import {
  countOf,
  errorMessage,
  filledText,
  isRecord,
  type JsonRecord,
  listOf,
  optionalText,
  parseJson,
  recordOf,
  recordsOf,
  textOf,
} from '../../values/json-shape.js'
import type { DecodedResponse, ProviderAnswer, ModelApi } from '../provider.js'
import { type Usage, usageFromTotals } from '../usage.js'

/**
 * Gemini counts cached tokens inside the prompt, thoughts beside the
 * candidates, and what its own tools read apart from both.
 */
const decodeGeminiUsage = (document: JsonRecord): Usage | undefined => {
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

/**
 * The items of a JSON array of objects that is still being written, as far as
 * they are complete: what is left of a streamed array that broke off.
 */
export const readArrayItems = (text: string): unknown[] => {
  const items: unknown[] = []
  let depth = 0
  let start = -1
  let inString = false
  for (let at = text.indexOf('[') + 1; at > 0 && at < text.length; at++) {
    const character = text[at]
    if (inString) {
      if (character === '\\') at++
      else if (character === '"') inString = false
    } else if (character === '"') inString = true
    else if (character === '{' || character === '[') {
      if (depth++ === 0) start = at
    } else if (character === '}' || character === ']') {
      if (--depth < 0) break
      if (depth === 0) items.push(parseJson(text.slice(start, at + 1)))
    }
  }
  return items.filter((item) => item !== undefined)
}

const PATH = /\/([^/:]+):(stream)?generateContent$/i

/** Gemini's `generateContent`, at Google AI Studio and at Vertex, streamed in either form. */
export const gemini: ModelApi = {
  provider: 'google',
  api: 'generate content',

  matches: ({ method, url, mentions }) =>
    method === 'POST' && PATH.test(decodePath(url)) && mentions('contents'),

  decodeRequest: ({ url, json }) => {
    const body = recordOf(json())
    const [, model, stream] = PATH.exec(decodePath(url)) ?? []
    const numbers = new CallNumbers()
    const [system] = decodeContents(
      body['systemInstruction'] ?? body['system_instruction'] ?? [],
      numbers,
    )
    return {
      ...(model !== undefined && { model }),
      stream: stream !== undefined,
      messages: [
        ...(system === undefined ? [] : [{ role: 'system', parts: system.parts } as const]),
        ...decodeContents(body['contents'], numbers),
      ],
    }
  },

  decodeResponse: (answer, request) => {
    const document = documentOf(answer)
    const numbers = new CallNumbers()
    // The numbers of calls go on from those in the conversation before.
    if (request !== undefined && hasBareCalls(document))
      decodeContents(recordOf(request.json())['contents'], numbers)
    return decodeAnswer(document, numbers)
  },

  answers: contentAnswers,
  scripted: [scriptedContent],
}

const decodePath = (url: URL): string => url.pathname.replace(/%3A/gi, ':')

const decodeAnswer = (document: JsonRecord, numbers: CallNumbers): DecodedResponse => {
  const candidates = recordsOf(document['candidates'])
  const [finishReason] = candidates.map((candidate) => finishReasonOf(candidate['finishReason']))
  const model = filledText(document['modelVersion'])
  const usage = decodeGeminiUsage(document)
  const error = errorMessage({ error: document['error'] }) ?? blockMessage(document)
  return {
    ...(model !== undefined && { model }),
    messages: candidates.map((candidate) => ({
      role: 'assistant',
      parts: decodeParts(recordOf(candidate['content'])['parts'], numbers),
    })),
    ...(usage !== undefined && { usage }),
    ...(finishReason !== undefined && { finishReason }),
    ...(error !== undefined && { error }),
  }
}

/** Vertex writes numbers for names when a client asks for them, as Google's older one does. */
const FINISH_REASONS = [
  'FINISH_REASON_UNSPECIFIED',
  'STOP',
  'MAX_TOKENS',
  'SAFETY',
  'RECITATION',
  'OTHER',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
  'MALFORMED_FUNCTION_CALL',
]

const finishReasonOf = (reason: unknown): string | undefined =>
  typeof reason === 'number' ? (FINISH_REASONS[reason] ?? String(reason)) : optionalText(reason)

/** A prompt that was refused has no candidates, only the reason. */
const blockMessage = ({ promptFeedback }: JsonRecord): string | undefined => {
  const { blockReason, blockReasonMessage } = recordOf(promptFeedback)
  if (typeof blockReason !== 'string') return undefined
  const why = filledText(blockReasonMessage)
  return `the prompt was blocked: ${blockReason}${why === undefined ? '' : `, ${why}`}`
}

const hasBareCalls = (document: JsonRecord): boolean =>
  recordsOf(document['candidates'])
    .flatMap(({ content }) => recordsOf(recordOf(content)['parts']))
    .some(({ functionCall }) => isRecord(functionCall) && functionCall['id'] === undefined)

/** A document, server-sent chunks, or the chunks in one JSON array, which may have broken off. */
const documentOf = ({ json, events, text }: ProviderAnswer): JsonRecord => {
  if (events !== undefined)
    return assembleContent(events.map(({ data }) => recordOf(parseJson(data))))
  if (isRecord(json)) return json
  return assembleContent(recordsOf(Array.isArray(json) ? json : readArrayItems(text ?? '')))
}
