import { tapeErrors } from '../format/errors.js'
import type { HeaderPair } from '../format/events.js'
import { headerValue } from '../http/http1.js'
import { isRecord, recordOf } from '../format/values/json-shape.js'
import type { Exchange } from '../read-model/exchange.js'
import { answerFormat } from '../providers/find-provider.js'
import type { AnswerFormat } from '../providers/specification/provider.js'
import { sseFrame } from '../providers/specification/wire-answer.js'
import { type Payload, payloadBytes } from './answer-payload.js'

const OF_BODY = new Set(['content-length', 'content-encoding', 'transfer-encoding', 'trailer'])

export interface EditedPieces {
  /** Empty if there is no body at all. */
  readonly parts: readonly Uint8Array[]
  /** True if its length is not announced. */
  readonly isStream: boolean
}

interface BodyOptions {
  readonly force?: boolean
  readonly status?: number
}

const EVENT_STREAM = 'text/event-stream'
const FAILED = 400
const BODILESS = new Set([101, 204, 205, 304])

const statusOf = ({ response }: Exchange, status: number | undefined): number =>
  status ?? response?.status ?? 200

/** Encodes the new content in the form of the recorded answer. */
export const editedPieces = (
  exchange: Exchange,
  payload: Payload,
  options: BodyOptions,
): EditedPieces => {
  const status = statusOf(exchange, options.status)
  const format = status < FAILED ? answerFormat(exchange.api) : undefined
  if (format !== undefined && payload.kind === 'json' && options.force !== true) {
    refuse(newProblems(exchange, format, payload.data))
  }
  if (exchange.request.method === 'HEAD' || BODILESS.has(status)) {
    const length = payload.kind === 'json' ? 1 : payloadBytes(payload).length
    if (length > 0 && options.force !== true) {
      refuse([`an answer with status ${status} to ${exchange.request.method} has no body`])
    }
    return { parts: [], isStream: false }
  }
  const { kind, data } = payload
  if (kind === 'json' && isRecord(data) && format !== undefined && isStreamed(exchange)) {
    const events = format.restream(data, {
      events: exchange.response?.events ?? [],
      request: exchange.request.json,
    })
    const parts = events.map((event) => {
      const framed = (format.frame ?? sseFrame)(event)
      return typeof framed === 'string' ? new TextEncoder().encode(framed) : framed
    })
    return { parts, isStream: true }
  }
  const bytes = payloadBytes(payload)
  const { response } = exchange
  // Other streams have no boundaries in their text, and keep their type.
  const isStream =
    status < FAILED &&
    response?.events !== undefined &&
    (headerValue(response.headers, 'content-type') ?? '').startsWith(EVENT_STREAM)
  const wasEmpty = response?.chunks.length === 0 && bytes.length === 0
  return { parts: wasEmpty ? [] : isStream ? cutEvents(bytes) : [bytes], isStream }
}

const refuse = (problems: readonly string[]): void => {
  if (problems.length > 0) throw tapeErrors.EDIT_INVALID_ANSWER(problems)
}

/** Ignores problems that the recorded answer already had. */
const newProblems = (exchange: Exchange, format: AnswerFormat, data: unknown): string[] => {
  const { response } = exchange
  const problems = format.check(data)
  if (problems.length === 0 || response === undefined || response.status >= FAILED) return problems
  const recorded = response.events === undefined ? response.json : format.assemble(response.events)
  const known = new Set(format.check(recorded))
  return problems.filter((problem) => !known.has(problem))
}

/** True if the answer was streamed, or was an error instead of the requested stream. */
const isStreamed = ({ api, request, response }: Exchange): boolean => {
  if (response !== undefined && response.status < FAILED) return response.events !== undefined
  const expects = answerFormat(api)?.expectsStream
  return expects === undefined ? recordOf(request.json)['stream'] === true : expects(request)
}

const cutEvents = (bytes: Uint8Array): Uint8Array[] => {
  const pieces: Uint8Array[] = []
  let start = 0
  for (let at = 1; at < bytes.length; at++) {
    if (bytes[at] !== 10 || bytes[at - 1] !== 10) continue
    pieces.push(bytes.subarray(start, at + 1))
    start = at + 1
  }
  return start < bytes.length ? [...pieces, bytes.subarray(start)] : pieces
}

/**
 * Status and headers for a new body: all headers except those that describe the bytes of the old
 * one, whose signatures and digests stay.
 */
export const editedHead = (
  exchange: Exchange,
  { parts, isStream }: EditedPieces,
  { status: wanted, seam }: BodyOptions & { readonly seam: 'fetch' | 'http' | 'http2' },
): { status: number; statusText: string; headers: HeaderPair[] } => {
  const { response } = exchange
  const status = statusOf(exchange, wanted)
  const headers = response?.headers ?? []
  const streamType = answerFormat(exchange.api)?.streamType ?? EVENT_STREAM
  const wasStream = (headerValue(headers, 'content-type') ?? '').startsWith(streamType)
  const contentType =
    isStream && !wasStream
      ? streamType
      : (!isStream && wasStream) || headers.length === 0
        ? 'application/json'
        : undefined
  const wasChunked = headerValue(headers, 'transfer-encoding') !== undefined
  const length =
    isStream || (wasChunked && parts.length > 0)
      ? undefined
      : parts.reduce((sum, part) => sum + part.length, 0)
  const edited = headers.filter(([name]) => {
    const lower = name.toLowerCase()
    return !OF_BODY.has(lower) && !(contentType !== undefined && lower === 'content-type')
  })
  if (contentType !== undefined) edited.push(['content-type', contentType])
  const isHttp1 = seam === 'http'
  const named = headers.find(([name]) => name.toLowerCase() === 'content-length')?.[0]
  if (length === undefined) {
    if (isHttp1 || wasChunked) edited.push(['transfer-encoding', 'chunked'])
  } else if (isHttp1 || named !== undefined) {
    edited.push([named ?? 'content-length', String(length)])
  }
  const statusText = status === response?.status ? response.statusText : status === 200 ? 'OK' : ''
  return { status, statusText, headers: edited }
}

/** Problems that make the value an invalid answer of an API; empty for an unknown API. */
export const checkAnswer = (api: string, answer: unknown): string[] =>
  answerFormat(api)?.check(answer) ?? []

/**
 * The framed event that ends a stream of an API, if the text of the stream lacks it; `undefined` if
 * it is present, or if streams of the API end without one.
 */
export const missingClosing = (api: string, text: string): string | undefined => {
  const closing = answerFormat(api)?.closing
  const framed = closing && sseFrame(closing)
  return framed === undefined || text.includes(framed.trimEnd()) ? undefined : framed
}
