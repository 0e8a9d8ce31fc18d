import { attempt } from '../format/values/attempt.js'
import { encodeBody } from '../format/event-body.js'
import { tapeErrors } from '../format/errors.js'
import type {
  DeliveryEvent,
  DrawEvent,
  HeaderPair,
  NewEvent,
  RecordedError,
  RequestEvent,
  ResultEvent,
  TapeEvent,
} from '../format/events.js'
import { fromWire } from '../format/values/from-wire.js'
import { defined, isRecord } from '../format/values/json-shape.js'
import type { Step } from '../read-model/step.js'
import type { TapeLike } from '../format/tape-like.js'
import { editableValue, type Payload, whyNothing } from './answer-payload.js'
import { editedHead, editedPieces, type EditedPieces } from './edited-body.js'
import { checkMcpAnswer, editedPipe, editedStream, mcpPayload } from './mcp-answer.js'
import { joinBytes, utf8 } from '../format/values/bytes.js'

export const drawPayload = (tape: TapeLike, seq: number): Payload => ({
  kind: 'value',
  data: drawAt(tape, seq).value,
})

/** The draw with another value of the same kind and type. */
export const editedDraw = (
  tape: TapeLike,
  seq: number,
  { data }: Payload,
  { force = false }: { readonly force?: boolean } = {},
): NewEvent<DrawEvent> => {
  const { kind, value } = drawAt(tape, seq)
  const problem = force ? undefined : wrongValue(kind, value, data)
  if (problem !== undefined) throw tapeErrors.EDIT_INVALID_ANSWER([`${kind} ${problem}`])
  return { type: 'draw', kind, value: data }
}

/**
 * Answer of a file call, found by the number of the call or of its answer: the content, or the
 * returned value.
 */
export const filePayload = (tape: TapeLike, seq: number): Payload => {
  const { answer, body } = fileAnswerAt(tape, seq)
  if (answer.as !== 'text' && answer.as !== 'bytes')
    return { kind: 'value', data: editableValue(`Event ${seq}`, answer.as ?? 'json', body) }
  const text = utf8(body)
  if (text === undefined)
    throw tapeErrors.EDIT_NO_ANSWER(
      `Event ${seq}`,
      'Its content is not text. Replace it with --response.',
    )
  return { kind: 'value', data: text }
}

/** The answer of a file call with another content or value, in the same form: text stays text. */
export const editedFile = (
  tape: TapeLike,
  seq: number,
  content: Payload | Uint8Array,
): { readonly op: number; readonly answerSeq: number; readonly delivery: EditedDelivery } => {
  const { answer } = fileAnswerAt(tape, seq)
  const { seq: answerSeq, at: _at, op, proof: _proof, ...event } = answer
  const isContent = answer.as === 'text' || answer.as === 'bytes'
  if (isContent) {
    if (!(content instanceof Uint8Array) && typeof content.data !== 'string')
      throw tapeErrors.EDIT_INVALID_ANSWER([
        `the content of a file is text, not a ${typeOf(content.data)}`,
      ])
    const body = content instanceof Uint8Array ? content : encode(content.data as string)
    return { op, answerSeq, delivery: { event, body } }
  }
  if (content instanceof Uint8Array)
    throw tapeErrors.EDIT_NO_ANSWER(
      `Event ${seq}`,
      'It gave a value, not the content of a file. Use --set.',
    )
  const { as, body } = encodeBody(fromWire(content.data))
  return { op, answerSeq, delivery: { event: { ...event, as }, body } }
}

const fileAnswerAt = (
  tape: TapeLike,
  seq: number,
): { readonly answer: ResultEvent; readonly body: Uint8Array } => {
  const event = eventAt(tape, seq)
  const op = event.type === 'result' ? event.op : seq
  const call = tape.event(op)
  for (let at = op + 1; call.type === 'call' && call.kind === 'file' && at < tape.count; at++) {
    const answer = tape.event(at)
    if (answer.type === 'result' && answer.op === op && answer.error === undefined)
      return { answer, body: tape.body(at) }
  }
  throw tapeErrors.EDIT_NO_ANSWER(
    `Event ${seq}`,
    `It is an event of type ${event.type}, neither a clock or random value nor a file read.`,
  )
}

const eventAt = (tape: TapeLike, seq: number): TapeEvent => {
  if (!(Number.isInteger(seq) && seq >= 0 && seq < tape.count))
    throw tapeErrors.TAPE_NO_SUCH_EVENT(tape.run.name, seq, tape.count)
  return tape.event(seq)
}

const drawAt = (tape: TapeLike, seq: number): DrawEvent => {
  const event = eventAt(tape, seq)
  if (event.type !== 'draw')
    throw tapeErrors.EDIT_NO_ANSWER(
      `Event ${seq}`,
      `It is an event of type ${event.type}, not a clock or random value.`,
    )
  return event
}

const typeOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'list' : typeof value

const wrongValue = (kind: string, recorded: unknown, value: unknown): string | undefined => {
  if (kind === 'Math.random' && !(typeof value === 'number' && value >= 0 && value < 1))
    return 'gives a number from 0 to below 1'
  const [, size] = /^crypto\.\S+ (\d+)$/.exec(kind) ?? []
  if (size !== undefined) {
    const length = typeof value === 'string' ? attempt(() => atob(value).length) : undefined
    return length === Number(size) ? undefined : `gives ${size} bytes, in base64`
  }
  if (
    kind === 'crypto.randomUUID' &&
    !/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(String(value))
  )
    return 'gives a UUID'
  if (typeOf(value) !== typeOf(recorded))
    return `gives a ${typeOf(recorded)}, not a ${typeOf(value)}`
  return undefined
}

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

/**
 * An HTTP/1.1 response as bytes, split into the pieces in which it is delivered. Its headers define
 * the framing: with `transfer-encoding`, every piece is a chunk.
 */
const http1Response = (
  head: {
    readonly status: number
    readonly statusText: string
    readonly headers: readonly HeaderPair[]
  },
  pieces: readonly Uint8Array[],
): Uint8Array[] => {
  const lines = head.headers.map(([name, value]) => `${name}: ${value}\r\n`)
  // Header values are bytes; values decoded as Latin-1 are encoded as Latin-1.
  const start = Uint8Array.from(
    `HTTP/1.1 ${head.status} ${head.statusText}\r\n${lines.join('')}\r\n`,
    (char) => char.charCodeAt(0) & 0xff,
  )
  const isChunked = head.headers.some(([name]) => name.toLowerCase() === 'transfer-encoding')
  const [first, ...rest] = isChunked
    ? [...pieces.filter(({ length }) => length > 0).map(chunkOf), encode('0\r\n\r\n')]
    : pieces
  return [joinBytes([start, first ?? new Uint8Array(0)]), ...rest]
}

const chunkOf = (piece: Uint8Array): Uint8Array =>
  joinBytes([encode(`${piece.length.toString(16)}\r\n`), piece, encode('\r\n')])

/** One part of an edited answer, as a boundary delivers it. */
export interface EditedDelivery {
  readonly event: DeliveryEvent extends infer E
    ? E extends DeliveryEvent
      ? Omit<E, 'seq' | 'at' | 'op'>
      : never
    : never
  readonly body: Uint8Array
}

/** The answer that a fork serves instead of the recorded one. */
export interface EditedAnswer {
  /** The event it answers: a request, a call, or the socket or process of a message. */
  readonly op: number
  readonly deliveries: readonly EditedDelivery[]
}

export interface EditOptions {
  /** Serves the answer even if it is invalid for the provider. */
  readonly force?: boolean
  /** A different HTTP status: an answer instead of an error, or the reverse. */
  readonly status?: number
}

const EMPTY = new Uint8Array(0)

/**
 * Encodes a payload as deliveries of the step's boundary, in the form of the recorded answer: a
 * stream stays a stream. Throws if the payload is not a valid answer of the step's provider, unless
 * `force` is set; oddities of the recorded answer are accepted. A step without an answer gets one.
 */
export const editedAnswer = (
  tape: TapeLike,
  step: Step,
  payload: Payload,
  options: EditOptions = {},
): EditedAnswer => {
  const event = tape.event(step.seq)
  const isMessage = payload.kind === 'json' && mcpPayload(step) !== undefined
  if (isMessage && options.force !== true && (options.status ?? 200) < 400)
    checkMcpAnswer(step, payload)
  if (event.type === 'write' && isMessage) {
    const chunk = { type: 'deliver', part: 'chunk', pipe: 1, ...stampOf(tape, step) } as const
    const delivery = { event: chunk, body: editedPipe(tape, step, payload.data) }
    return { op: event.op, deliveries: [delivery] }
  }
  if (event.type === 'request' && !step.inferred) {
    return {
      op: event.socket ?? event.seq,
      deliveries: httpDeliveries(tape, step, event, payload, options),
    }
  }
  if (event.type !== 'call' || event.kind !== 'tool' || step.inferred)
    throw tapeErrors.EDIT_NO_ANSWER(`Step ${step.label}`, whyNothing(step))
  return { op: event.seq, deliveries: [toolDelivery(payload)] }
}

const httpDeliveries = (
  tape: TapeLike,
  step: Step,
  event: RequestEvent,
  payload: Payload,
  options: EditOptions,
): EditedDelivery[] => {
  const exchange = step.exchange()
  if (exchange === undefined)
    throw tapeErrors.EDIT_NO_ANSWER(`Step ${step.label}`, whyNothing(step))
  // A message that an MCP server sent on a stream is put into the same stream.
  const id = payload.kind === 'json' ? step.mcp()?.id : undefined
  const { status = 0, events } = exchange.response ?? {}
  const pieces: EditedPieces =
    id !== undefined && events !== undefined && status < 400
      ? { parts: editedStream(events, id, payload.data), isStream: true }
      : editedPieces(exchange, payload, options)
  const head = editedHead(exchange, pieces, { ...options, seam: event.seam })
  const chunk = { type: 'deliver', part: 'chunk' } as const
  if (event.seam === 'http') {
    const stamp = stampOf(tape, step)
    return http1Response(head, pieces.parts).map((body) => ({
      event: { ...chunk, ...stamp },
      body,
    }))
  }
  const recorded = step.answerSeqs
    .map((seq) => tape.event(seq))
    .find((answer) => answer.type === 'response')
  const { url, redirected, responseType } = recorded ?? {}
  const isEmpty = pieces.parts.length === 0
  const response: EditedDelivery['event'] = {
    type: 'response',
    ...head,
    ...defined({ url, redirected, responseType }),
    ...(isEmpty && event.seam === 'fetch' && { empty: true }),
  }
  const start = { event: response, body: EMPTY }
  if (isEmpty && event.seam === 'fetch') return [start]
  return [
    start,
    ...pieces.parts.map((body) => ({ event: chunk, body })),
    { event: { type: 'deliver', part: 'end' }, body: EMPTY },
    ...(event.seam === 'http2'
      ? [{ event: { type: 'deliver', part: 'close', value: 0 } as const, body: EMPTY }]
      : []),
  ]
}

/**
 * The number and digest of the bytes that the agent had written to the socket or process before the
 * answer.
 */
const stampOf = (tape: TapeLike, step: Step): { written?: number; digest?: string } => {
  for (const seq of step.answerSeqs) {
    const event = tape.event(seq)
    if (event.type !== 'deliver' || event.part !== 'chunk') continue
    const { written, digest } = event
    return defined({ written, digest })
  }
  return {}
}

const toolDelivery = ({ kind, data }: Payload): EditedDelivery => {
  if (kind === 'error') {
    // Users may write `{ "message": "…" }` and omit the rest.
    if (!isRecord(data) || typeof data['message'] !== 'string')
      throw tapeErrors.EDIT_INVALID_ANSWER(['an error is an object with a message'])
    return {
      event: {
        type: 'result',
        error: { class: 'Error', name: 'Error', ...data } as unknown as RecordedError,
      },
      body: EMPTY,
    }
  }
  let value: unknown
  try {
    value = fromWire(data)
  } catch (cause) {
    throw tapeErrors.EDIT_INVALID_ANSWER([cause instanceof Error ? cause.message : String(cause)])
  }
  const { as, body } = encodeBody(value)
  return { event: { type: 'result', as }, body }
}
