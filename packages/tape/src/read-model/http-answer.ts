import { attempt } from '../format/values/attempt.js'
import type { HeaderPair, RequestEvent } from '../format/events.js'
import { joinBytes } from '../format/values/bytes.js'
import { headerValue, type Http1Response, Http1Scanner } from '../http/http1.js'
import type { TimedChunk } from '../http/sse.js'
import { firstIndex } from '../format/values/collections.js'
import type { StepOp } from './run-index.js'
import type { TapeLike } from '../format/tape-like.js'

/** Throws if the content is longer than that, before all of it is in memory; as those of Node do. */
type BodyDecoder = (bytes: Uint8Array, limit: { readonly maxOutputLength: number }) => Uint8Array

/** Decompressors are passed in, because the tape package has none. */
export interface BodyDecoders {
  readonly gunzip?: BodyDecoder
  readonly inflate?: BodyDecoder
  readonly brotli?: BodyDecoder
}

/** Larger contents that are compressed better than this stay compressed: a few bytes could fill the memory. */
const DECODED_MAX_BYTES = 64 << 20
const DECODED_MAX_RATIO = 100

/** The answer to a request, as transferred. */
export interface HttpAnswer {
  readonly status: number
  readonly statusText: string
  readonly headers: readonly HeaderPair[]
  /** Pieces of content with their times; a single piece if the content was compressed. */
  readonly chunks: readonly TimedChunk[]
  /** False if it broke off, or if the agent stopped reading. */
  readonly complete: boolean
  /** Set if the content has a compression that is not supported here. */
  readonly undecoded?: string
}

export const readAnswer = (
  tape: TapeLike,
  op: StepOp & { readonly event: RequestEvent },
  onSameSocket: readonly StepOp[],
  decoders: BodyDecoders,
): HttpAnswer | undefined => {
  const head = answerHead(op)
  const headers = op.response?.headers ?? []
  const answer =
    op.event.socket === undefined
      ? head && {
          ...head,
          headers,
          chunks: op.chunks.map(({ seq, at }) => ({ at, bytes: tape.body(seq) })),
        }
      : answerOnSocket(tape, op, onSameSocket)
  // `fetch` has already decompressed it; its headers still name the encoding.
  return answer === undefined || (op.event.seam === 'fetch' && op.response?.encoded !== true)
    ? answer
    : decodeContent(answer, decoders)
}

/** Facts about an answer that do not need its content. */
export type AnswerHead = Pick<HttpAnswer, 'status' | 'statusText' | 'complete'>

/** The head of an answer, from its events; undefined on a socket, where only the bytes contain it. */
export const answerHead = ({ response, end, failure }: StepOp): AnswerHead | undefined => {
  if (response === undefined) return undefined
  const { status, statusText, empty } = response
  return {
    status,
    statusText,
    complete: empty === true || (end !== undefined && failure === undefined),
  }
}

/**
 * Extracts the answer from a connection. The bytes between this request and the next are enough,
 * unless requests were pipelined: then the whole connection is read.
 */
const answerOnSocket = (
  tape: TapeLike,
  op: StepOp,
  onSameSocket: readonly StepOp[],
): HttpAnswer | undefined => {
  const position = firstIndex(onSameSocket, ({ event }) => event.seq >= op.event.seq)
  let firstUnanswered = unanswered.get(onSameSocket)
  if (firstUnanswered === undefined) {
    const found = onSameSocket.findIndex(({ chunks }) => chunks.length === 0)
    firstUnanswered = found < 0 ? onSameSocket.length : found
    unanswered.set(onSameSocket, firstUnanswered)
  }
  const alone = position <= firstUnanswered ? scanAnswers(tape, [op]) : []
  if (onSameSocket.length < 2 || (alone.length === 1 && alone[0]?.complete === true))
    return alone[0]
  return scanAnswers(tape, onSameSocket)[position]
}

/** Computed once per socket, which may have thousands of requests. */
const unanswered = new WeakMap<readonly StepOp[], number>()

/** Final answers in the recorded pieces of some requests of one socket, in order. */
const scanAnswers = (tape: TapeLike, ops: readonly StepOp[]): HttpAnswer[] => {
  const answers: HttpAnswer[] = []
  let chunks: TimedChunk[] = []
  let at = 0
  const scanner = new Http1Scanner('response', {
    dropBodies: true,
    onHead: () => {
      chunks = []
    },
    onBody: (bytes) => chunks.push({ at, bytes }),
  })
  const take = ({ status, statusText, headers, complete }: Http1Response): void => {
    if (status >= 200 || status === 101)
      answers.push({ status, statusText, headers, chunks, complete })
  }
  for (const { event } of ops) if (event.type === 'request') scanner.expect(event.method)
  for (const op of ops) {
    for (const chunk of op.chunks) {
      at = chunk.at
      // The scanner may modify its input, and must not modify the tape's memory.
      for (const message of scanner.push(new Uint8Array(tape.body(chunk.seq)))) take(message)
    }
  }
  const last = ops.at(-1)
  const wasClosed = last?.end !== undefined && last.failure === undefined
  for (const message of scanner.end()) take(wasClosed ? message : { ...message, complete: false })
  return answers
}

const decodeContent = (answer: HttpAnswer, decoders: BodyDecoders): HttpAnswer => {
  const coding = headerValue(answer.headers, 'content-encoding')?.toLowerCase() ?? 'identity'
  if (coding === 'identity' || answer.chunks.length === 0) return answer
  const decode = new Map([
    ['gzip', decoders.gunzip],
    ['x-gzip', decoders.gunzip],
    ['deflate', decoders.inflate],
    ['br', decoders.brotli],
  ]).get(coding)
  const packed = joinBytes(answer.chunks.map((chunk) => chunk.bytes))
  const maxOutputLength = Math.max(DECODED_MAX_BYTES, DECODED_MAX_RATIO * packed.length)
  const bytes = attempt(() => decode?.(packed, { maxOutputLength }))
  if (bytes === undefined) return { ...answer, undecoded: coding }
  return { ...answer, chunks: [{ at: answer.chunks.at(-1)?.at ?? 0, bytes }] }
}
