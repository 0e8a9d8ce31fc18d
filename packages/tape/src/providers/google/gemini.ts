import {
  countOf,
  defined,
  errorMessage,
  filledText,
  isRecord,
} from '../../format/values/json-shape.js'
import { type JsonRecord, listOf, optionalText, parseJson } from '../../format/values/json-shape.js'
import { recordOf, recordsOf, textOf } from '../../format/values/json-shape.js'
import { draftAt, type Draft, eventData, inOrder } from '../specification/assemble.js'
import {
  type Check,
  filledList,
  ifPresent,
  list,
  object,
  oneOf,
  optional,
} from '../specification/check.js'
import { shape, string, usage } from '../specification/check.js'
import {
  CallNumbers,
  mergeParts,
  type Message,
  type MessagePart,
} from '../specification/message.js'
import { otherPart, textPart, userTurn } from '../specification/message.js'
import type { AnswerFormat, ModelApi, ProviderAnswer } from '../specification/provider.js'
import type { StreamEvent, StreamOptions } from '../specification/provider.js'
import {
  type CutText,
  cutReply,
  type FailedRequest,
  type Finish,
  hasText,
} from '../specification/reply.js'
import { type Reply, replyId, type ScriptedError, textPieces } from '../specification/reply.js'
import { type Usage, usageFromTotals } from '../specification/usage.js'
import {
  jsonAnswer,
  retryHeaders,
  streamAnswer,
  type WireAnswer,
} from '../specification/wire-answer.js'

/**
 * A conversation in Gemini's format. Function results are part of a user message, or of a message
 * with their own role; both are shown as messages of the tool.
 */
const decodeContents = (contents: unknown, numbers: CallNumbers): Message[] => {
  // A single content, or bare text, counts as a list.
  const given =
    typeof contents === 'string' ? { role: 'user', parts: [{ text: contents }] } : contents
  return recordsOf(isRecord(given) ? [given] : given).flatMap((content) => {
    const parts = decodeParts(content['parts'], numbers)
    return content['role'] === 'model' ? [{ role: 'assistant', parts }] : userTurn(parts)
  })
}

export const decodeParts = (parts: unknown, numbers: CallNumbers): MessagePart[] => {
  const list = isRecord(parts) ? [parts] : recordsOf(parts)
  return mergeParts(list.filter(saysSomething).map((part) => decodePart(part, numbers)))
}

/** False for a part that contains only the signature of a thought. */
const saysSomething = (part: JsonRecord): boolean =>
  Object.entries(part).some(
    ([key, value]) => key !== 'thought' && key !== 'thoughtSignature' && value !== '',
  )

const decodePart = (part: JsonRecord, numbers: CallNumbers): MessagePart => {
  const { text: said, functionCall, functionResponse, inlineData, fileData } = part
  if (typeof said === 'string')
    return part['thought'] === true ? { type: 'reasoning', text: said } : textPart(said)
  if (isRecord(functionCall)) {
    const name = textOf(functionCall['name'])
    const args = functionCall['args'] ?? {}
    return { type: 'tool_call', id: numbers.call(textOf(functionCall['id']), name), name, args }
  }
  if (isRecord(functionResponse)) {
    const name = textOf(functionResponse['name'])
    const { response } = functionResponse
    const isError = isRecord(response) && response['error'] !== undefined
    // SDKs wrap a result that is not an object, under one of these names.
    const entries = Object.entries(recordOf(response))
    const [only] = entries
    const isWrapped =
      entries.length === 1 && only !== undefined && ['output', 'result', 'error'].includes(only[0])
    return {
      type: 'tool_result',
      id: numbers.result(textOf(functionResponse['id']), name),
      content: isWrapped ? only[1] : response,
      ...(isError && { isError }),
    }
  }
  const { mimeType, fileUri } = recordOf(inlineData ?? fileData)
  if (textOf(mimeType).startsWith('image/'))
    return { type: 'image', source: textOf(fileUri ?? mimeType) }
  const kind = Object.keys(part).find((key) => !key.startsWith('thought')) ?? 'part'
  return otherPart(kind, part)
}

/**
 * Gemini counts cached tokens as part of the prompt, but thoughts and the tokens read by its own
 * tools separately.
 */
const decodeGeminiUsage = (document: JsonRecord): Usage | undefined => {
  const given = recordOf(document['usageMetadata'])
  const prompt = countOf(given['promptTokenCount'])
  if (prompt === undefined) return undefined
  const thoughts = countOf(given['thoughtsTokenCount']) ?? 0
  // Token types, tools and service tiers that the list price of text does not cover.
  const spoken = hasModality(given['promptTokensDetails'], 'AUDIO')
  const drawn = ['AUDIO', 'IMAGE', 'VIDEO'].filter((kind) =>
    hasModality(given['candidatesTokensDetails'], kind),
  )
  const searched = recordsOf(document['candidates']).some(
    ({ groundingMetadata }) => listOf(recordOf(groundingMetadata)['webSearchQueries']).length > 0,
  )
  const way = textOf(given['trafficType'] ?? given['serviceTier']).toLowerCase()
  return usageFromTotals({
    allInput: prompt + (countOf(given['toolUsePromptTokenCount']) ?? 0),
    cachedInput: countOf(given['cachedContentTokenCount']) ?? 0,
    cacheWrite: 0,
    output: (countOf(given['candidatesTokenCount']) ?? 0) + thoughts,
    reasoning: thoughts,
    total: countOf(given['totalTokenCount']),
    unpriced: [
      ...(spoken ? ['audio tokens'] : []),
      ...drawn.map((kind) => `${kind.toLowerCase()} output`),
      ...(searched ? ['web searches'] : []),
      ...(['', 'on_demand', 'standard', 'traffic_type_unspecified'].includes(way)
        ? []
        : [`service tier ${way}`]),
    ],
  })
}

/** In the order of Vertex's numbers for them, which a client may request instead of names. */
const MODALITIES = ['MODALITY_UNSPECIFIED', 'TEXT', 'IMAGE', 'VIDEO', 'AUDIO', 'DOCUMENT']

const hasModality = (details: unknown, modality: string): boolean =>
  recordsOf(details).some(
    ({ modality: kind, tokenCount }) =>
      (kind === modality || kind === MODALITIES.indexOf(modality)) &&
      (countOf(tokenCount) ?? 0) > 0,
  )

/** The complete items of a JSON array of objects that is still streaming, or broke off. */
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

const decodePath = (url: URL): string => url.pathname.replace(/%3A/gi, ':')

/** Vertex uses numbers instead of names if a client requests them, as Google's older client does. */
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

/** A refused prompt has no candidates, only a reason. */
const blockMessage = ({ promptFeedback }: JsonRecord): string | undefined => {
  const { blockReason, blockReasonMessage } = recordOf(promptFeedback)
  if (typeof blockReason !== 'string') return undefined
  const why = filledText(blockReasonMessage)
  return `the prompt was blocked: ${blockReason}${why === undefined ? '' : `, ${why}`}`
}

/** A document, server-sent chunks, or the chunks in one JSON array, which may have broken off. */
const documentOf = ({ json, events, text }: ProviderAnswer): JsonRecord => {
  if (events !== undefined) return assembleContent(eventData(events))
  if (isRecord(json)) return json
  return assembleContent(recordsOf(Array.isArray(json) ? json : readArrayItems(text ?? '')))
}

/**
 * An answer of Gemini as the chunks of a stream. The last chunk of a candidate has the finish
 * reason, the very last chunk the usage. Two adjacent text parts become one when streamed.
 */
const restreamContent = (
  answer: JsonRecord,
  { cut = textPieces }: StreamOptions,
): StreamEvent[] => {
  const { candidates, usageMetadata, error, ...rest } = answer
  const chunks: JsonRecord[] = recordsOf(candidates)
    .flatMap((candidate, index) => candidatePieces(candidate, index, cut))
    .map((candidate) => ({ candidates: [candidate], ...rest }))
  const last = chunks.at(-1) ?? rest
  const counted = usageMetadata === undefined ? last : { ...last, usageMetadata }
  const isEmpty = chunks.length === 0 && Object.keys(counted).length === 0
  const whole = isEmpty ? [] : [...chunks.slice(0, -1), counted]
  const failed = error === undefined || error === null ? [] : [{ error }]
  return [...whole, ...failed].map((data) => ({ data }))
}

const candidatePieces = (candidate: JsonRecord, position: number, cut: CutText): JsonRecord[] => {
  const { content, index = position, ...ended } = candidate
  const { parts, ...about } = recordOf(content)
  const pieces = recordsOf(parts).flatMap((part) => {
    // Text is cut into pieces, with the signature of a thought on the last; anything else comes
    // whole.
    const { text: said, thought, ...others } = part
    if (typeof said !== 'string' || said === '') return [part]
    const pieces = cut(said)
    return pieces.map((piece, at) => ({
      text: piece,
      ...defined({ thought }),
      ...(at === pieces.length - 1 && others),
    }))
  })
  if (pieces.length === 0) return [{ ...defined({ content }), index, ...ended }]
  return pieces.map((piece, at) => ({
    content: { ...about, parts: [piece] },
    index,
    ...(at === pieces.length - 1 && ended),
  }))
}

/** Deeper paths are not function arguments. */
const DEPTH_MAX = 100
/** Larger indexes cannot belong to a list that a model wrote piece by piece. */
const INDEX_MAX = 10_000

/**
 * Adds the next piece of a function call that Vertex streams: arguments arrive as values with their
 * paths, long texts in several pieces.
 */
const addPartialArgs = (call: JsonRecord, piece: JsonRecord): JsonRecord => {
  const { partialArgs, willContinue, ...named } = piece
  let args: unknown = call['args'] ?? {}
  for (const part of recordsOf(partialArgs)) {
    const path = keysOf(textOf(part['jsonPath']))
    if (path.length > 0) args = withValue(args, path, part)
  }
  const { willContinue: _, ...known } = call
  return { ...known, ...named, args, ...(willContinue === true && { willContinue }) }
}

/** `$.stops[0].city` and `$['stops'][0]` as a list of names and numbers. */
const keysOf = (path: string): readonly (string | number)[] => {
  const keys = [...path.matchAll(/\.([^.[\]]+)|\[(\d+)\]|\['([^']*)'\]/g)].map(
    ([, name, index, quoted]) => (index === undefined ? (name ?? quoted ?? '') : Number(index)),
  )
  const isSane = keys.length <= DEPTH_MAX && keys.every((key) => key !== '__proto__')
  return isSane && keys.every((key) => (countOf(key) ?? 0) <= INDEX_MAX) ? keys : []
}

const withValue = (
  target: unknown,
  [key, ...rest]: readonly (string | number)[],
  part: JsonRecord,
): unknown => {
  if (key === undefined) {
    const { stringValue, numberValue, boolValue } = part
    if (typeof stringValue === 'string') return textOf(target) + stringValue
    if ('nullValue' in part) return null
    return numberValue ?? boolValue ?? target
  }
  if (typeof key === 'number') {
    const list = [...listOf(target)]
    list[key] = withValue(list[key], rest, part)
    return list
  }
  const record = isRecord(target) ? target : {}
  return { ...record, [key]: withValue(record[key], rest, part) }
}

interface CandidateDraft {
  readonly fields: Draft
  readonly content: Draft
  readonly parts: JsonRecord[]
}

const assembleContent = (chunks: readonly JsonRecord[]): JsonRecord => {
  const rest: Draft = {}
  const candidates = new Map<number, CandidateDraft>()
  for (const { candidates: given, usageMetadata, ...fields } of chunks) {
    Object.assign(rest, fields)
    if (usageMetadata !== undefined)
      rest['usageMetadata'] = laterCounts(recordOf(rest['usageMetadata']), recordOf(usageMetadata))
    for (const candidate of recordsOf(given)) {
      const { index: position, content, ...fields } = candidate
      const draft = draftAt(candidates, countOf(position) ?? 0, () => ({
        fields: {},
        content: {},
        parts: [],
      }))
      const { parts, ...about } = recordOf(content)
      Object.assign(draft.fields, fields)
      Object.assign(draft.content, about)
      for (const part of recordsOf(parts)) addPart(draft.parts, part)
    }
  }
  if (candidates.size === 0) return rest
  return {
    candidates: inOrder(candidates).map(([index, { fields, content, parts }]) => ({
      index,
      content: { ...content, parts },
      ...fields,
    })),
    ...rest,
  }
}

/**
 * Counts are running totals, and a count that a chunk omits is unchanged. If Google runs a tool in
 * between, counting restarts, and the counts of the chunk apply.
 */
const laterCounts = (earlier: JsonRecord, later: JsonRecord): JsonRecord => {
  const total = countOf(later['totalTokenCount'])
  const merged = { ...earlier, ...later }
  return total !== undefined && total === sumOf(later) && total !== sumOf(merged) ? later : merged
}

const PARTS_OF_TOTAL = [
  'promptTokenCount',
  'toolUsePromptTokenCount',
  'candidatesTokenCount',
  'thoughtsTokenCount',
]

const sumOf = (counts: JsonRecord): number =>
  PARTS_OF_TOTAL.reduce((sum, key) => sum + (countOf(counts[key]) ?? 0), 0)

/** Text continues the previous text, unless only one of them is a thought. */
const addPart = (parts: JsonRecord[], part: JsonRecord): void => {
  const last = parts.at(-1)
  const open = recordOf(last?.['functionCall'])
  if (isRecord(part['functionCall']) && open['willContinue'] === true) {
    parts[parts.length - 1] = { ...last, functionCall: addPartialArgs(open, part['functionCall']) }
    return
  }
  const isSame =
    typeof part['text'] === 'string' &&
    typeof last?.['text'] === 'string' &&
    (last['thought'] === true) === (part['thought'] === true)
  if (isSame)
    parts[parts.length - 1] = { ...last, ...part, text: last['text'] + textOf(part['text']) }
  else parts.push(part)
}

const checkReason: Check = (reason, path) =>
  typeof reason === 'string' || typeof reason === 'number'
    ? []
    : [`${path} ${reason === undefined ? 'is missing' : 'is not a finish reason'}`]

/** An answer that was stopped may lack content, or parts. */
const checkCandidate = shape({
  finishReason: checkReason,
  content: optional(
    shape({
      role: optional(oneOf('model')),
      parts: optional(
        list(
          ifPresent({
            text: string,
            functionCall: shape({ name: string, args: optional(object) }),
          }),
        ),
      ),
    }),
  ),
})

const checkContent = shape({ usageMetadata: optional(usage()) }, (document) => {
  const { candidates, promptFeedback } = document
  // A blocked prompt has no candidates.
  const isBlocked = candidates === undefined && isRecord(promptFeedback)
  return isBlocked ? [] : filledList(checkCandidate)(candidates, 'candidates')
})

const FINISH: Readonly<Record<Finish, string>> = {
  stop: 'STOP',
  length: 'MAX_TOKENS',
  tool: 'STOP',
  filter: 'SAFETY',
}

const encodeContent = (reply: Reply): JsonRecord => {
  const { input, cachedInput, cacheWrite, output, reasoning } = reply.usage
  const prompt = input + cachedInput + cacheWrite
  const parts = [
    ...(reply.reasoning === '' ? [] : [{ text: reply.reasoning, thought: true }]),
    ...(hasText(reply) ? [{ text: reply.text }] : []),
    ...reply.toolCalls.map(({ name, args, id }) => ({
      functionCall: defined({ id, name, args }),
    })),
  ]
  return {
    candidates: [
      {
        content: { parts, role: 'model' },
        finishReason: FINISH[reply.finish],
        index: 0,
      },
    ],
    usageMetadata: {
      promptTokenCount: prompt,
      candidatesTokenCount: output - reasoning,
      totalTokenCount: prompt + output,
      ...(cachedInput > 0 && { cachedContentTokenCount: cachedInput }),
      promptTokensDetails: [{ modality: 'TEXT', tokenCount: prompt }],
      ...(reasoning > 0 && { thoughtsTokenCount: reasoning }),
    },
    modelVersion: reply.model,
    responseId: replyId(reply, 'resp-'),
  }
}

/** Without `alt=sse`, a stream is a JSON array, which is edited as a document. */
const isSse = (url: string): boolean => /[?&]alt=sse\b/.test(url)

const contentAnswers: AnswerFormat = {
  assemble: (events) => assembleContent(eventData(events)),
  restream: restreamContent,
  check: checkContent,
  encode: encodeContent,
  outputFields: ['candidates'],
  expectsStream: ({ url }) => /(?::|%3A)streamGenerateContent\?/i.test(url) && isSse(url),
}

/** Gemini's `generateContent`, at Google AI Studio and Vertex, streamed in either form. */
export const gemini: ModelApi = {
  provider: 'google',
  api: 'generate content',
  conversation: ['systemInstruction', 'system_instruction', 'contents'],

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
    return defined({
      model,
      stream: stream !== undefined,
      messages: [
        ...(system === undefined ? [] : [{ role: 'system', parts: system.parts } as const]),
        ...decodeContents(body['contents'], numbers),
      ],
    })
  },

  decodeResponse: (answer, request) => {
    const document = documentOf(answer)
    const numbers = new CallNumbers()
    const candidates = recordsOf(document['candidates'])
    const hasBareCalls = candidates
      .flatMap(({ content }) => recordsOf(recordOf(content)['parts']))
      .some(({ functionCall }) => isRecord(functionCall) && functionCall['id'] === undefined)
    // Call numbers continue those of the earlier conversation.
    if (request !== undefined && hasBareCalls)
      decodeContents(recordOf(request.json())['contents'], numbers)
    const reason = candidates[0]?.['finishReason']
    return defined({
      model: filledText(document['modelVersion']),
      messages: candidates.map((candidate): Message => ({
        role: 'assistant',
        parts: decodeParts(recordOf(candidate['content'])['parts'], numbers),
      })),
      usage: decodeGeminiUsage(document),
      finishReason:
        typeof reason === 'number'
          ? (FINISH_REASONS[reason] ?? String(reason))
          : optionalText(reason),
      error: errorMessage({ error: document['error'] }) ?? blockMessage(document),
    })
  },

  answers: contentAnswers,
  scripted: [
    // At Google AI Studio and Vertex.
    {
      format: 'gemini',
      path: /:(generateContent|streamGenerateContent)$/,
      answer: (reply, request) => {
        const document = encodeContent(reply)
        if (!request.stream) return jsonAnswer(document)
        const events = restreamContent(document, {
          events: [],
          request: request.body,
          cut: cutReply(reply),
        })
        return isSse(request.path)
          ? streamAnswer(contentAnswers, events)
          : arrayAnswer(events.map(({ data }) => data))
      },
    },
  ],
}

/** Valid JSON only as a whole, but each element is sent separately. */
const arrayAnswer = (chunks: readonly unknown[]): WireAnswer => ({
  status: 200,
  headers: { 'content-type': 'application/json; charset=UTF-8' },
  pieces: [
    ...chunks.map((chunk, index) => `${index === 0 ? '[' : ',\r\n'}${JSON.stringify(chunk)}`),
    ']',
  ],
})

const STATUSES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

/** An error in Google's format, inside an array if the answer would be streamed as one. */
export const googleFailure = (error: ScriptedError, request: FailedRequest): WireAnswer => {
  const { status: code, message, retryAfter } = error
  const status = error.code ?? STATUSES[code] ?? (code >= 500 ? 'INTERNAL' : 'FAILED_PRECONDITION')
  const details =
    retryAfter === undefined
      ? []
      : [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${retryAfter}s` }]
  const body = { error: { code, message, status, ...(details.length > 0 && { details }) } }
  const isArray = request.stream === true && !isSse(request.path)
  return jsonAnswer(isArray ? [body] : body, retryHeaders(error), code)
}
