import { CallNumbers } from './call-numbers.js'
import { assembleContent } from './gemini-assembly.js'
import { decodeContents, decodeParts } from './gemini-content.js'
import { decodeGeminiUsage } from './gemini-usage.js'
import {
  errorMessage,
  filledText,
  isRecord,
  optionalText,
  parseJson,
  recordOf,
  recordsOf,
  type JsonRecord,
} from './json-shape.js'
import { readArrayItems } from './json-array-items.js'
import type { DecodedResponse, ProviderAnswer, ProviderDecoder } from './provider-decoder.js'

const PATH = /\/([^/:]+):(stream)?generateContent$/i

/** Gemini's `generateContent`, at Google AI Studio and at Vertex, streamed in either form. */
export const gemini: ProviderDecoder = {
  name: 'google',
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
