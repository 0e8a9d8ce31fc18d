import { attempt } from '../format/values/attempt.js'
import { crc32Of, fromBase64, joinBytes } from '../format/values/bytes.js'
import { parseSse, type SseEvent, type TimedChunk } from './sse.js'
import { parseJson, recordOf } from '../format/values/json-shape.js'

/**
 * Parses lines of JSON as events, from chunks that may be split anywhere. The last line counts even
 * without a line end: parsing shows whether it is complete.
 */
export const readJsonLines = (chunks: readonly TimedChunk[]): SseEvent[] => {
  const events: SseEvent[] = []
  const decoder = new TextDecoder()
  let pending = ''
  let lastAt = 0
  const take = (line: string, at: number): void => {
    if (line.trim() !== '') events.push({ event: 'message', data: line.trim(), at })
  }
  for (const { at, bytes } of chunks) {
    const lines = (pending + decoder.decode(bytes, { stream: true })).split('\n')
    pending = lines.pop() ?? ''
    for (const line of lines) take(line, at)
    lastAt = at
  }
  take(pending + decoder.decode(), lastAt)
  return events
}

/** The events of a streamed body, whatever its framing. */
interface StreamReading {
  readonly events: readonly SseEvent[]
  /** Why reading stopped early; missing if the stream merely broke off. */
  readonly problem?: string
}

const JSON_LINES = /^application\/(x-)?(ndjson|jsonl|json-lines|jsonlines)\b/i

/** The events of a body by its content type; `undefined` if it is not a stream. */
export const readStream = (
  contentType: string,
  chunks: readonly TimedChunk[],
): StreamReading | undefined => {
  if (/^text\/event-stream\b/i.test(contentType)) return { events: parseSse(chunks) }
  if (/^application\/vnd\.amazon\.eventstream\b/i.test(contentType)) return readFrameEvents(chunks)
  if (JSON_LINES.test(contentType)) return { events: readJsonLines(chunks) }
  return undefined
}

/** Encodes one message of an AWS event stream: text headers, a payload, and both checksums. */
export const eventFrameBytes = (
  headers: Readonly<Record<string, string>>,
  payload: string,
): Uint8Array => {
  const encoder = new TextEncoder()
  const named = joinBytes(
    Object.entries(headers).flatMap(([name, value]) => {
      const [key, text] = [encoder.encode(name), encoder.encode(value)]
      return [
        Uint8Array.of(key.length),
        key,
        Uint8Array.of(TEXT, text.length >> 8, text.length & 255),
        text,
      ]
    }),
  )
  const body = encoder.encode(payload)
  const lengths = joinBytes([uint32(16 + named.length + body.length), uint32(named.length)])
  const message = joinBytes([lengths, uint32(crc32Of(lengths)), named, body])
  return joinBytes([message, uint32(crc32Of(message))])
}

const uint32 = (value: number): Uint8Array => {
  const bytes = new Uint8Array(4)
  new DataView(bytes.buffer).setUint32(0, value)
  return bytes
}

/**
 * The events of an AWS event stream in the form of server-sent events. An exception has the name of
 * its type (`throttlingException`). A `chunk` of Bedrock contains the model's JSON in base64, and
 * is decoded to that JSON.
 */
export const readFrameEvents = (chunks: readonly TimedChunk[]): StreamReading => {
  const { frames, problem } = readEventFrames(chunks)
  return { events: frames.map(eventOf), ...(problem !== undefined && { problem }) }
}

const eventOf = ({ headers, payload, at }: EventFrame): SseEvent => {
  if (headers.get(':message-type') === 'error') {
    const code = headers.get(':error-code')
    const message = headers.get(':error-message') ?? code
    return { event: 'error', data: JSON.stringify({ code, message }), at }
  }
  const event = headers.get(':event-type') ?? headers.get(':exception-type') ?? 'message'
  const text = new TextDecoder().decode(payload)
  const { bytes } = event === 'chunk' ? recordOf(parseJson(text)) : {}
  if (typeof bytes !== 'string') return { event, data: text, at }
  return { event, data: attempt(() => new TextDecoder().decode(fromBase64(bytes)), text), at }
}

export interface EventFrame {
  /** Headers with text values; others are not needed to read a model's answer. */
  readonly headers: ReadonlyMap<string, string>
  readonly payload: Uint8Array
  /** Arrival time of the chunk that completed it. */
  readonly at: number
}

export interface EventFrames {
  readonly frames: readonly EventFrame[]
  readonly unfinishedBytes: number
  /** Why nothing after `frames` can be trusted; clients stop there, too. */
  readonly problem?: string
}

/** Two lengths and their checksum; the checksum of the message is at its end. */
const PRELUDE = 12
const CHECKSUM = 4
/** AWS allows 16 MB of payload and 128 KB of headers. */
const FRAME_BYTES_MAX = 17 * 1024 * 1024

/**
 * Parses `application/vnd.amazon.eventstream` from chunks that may be split anywhere, and verifies
 * checksums. Never throws: problems are reported in `problem`, with everything before them.
 */
export const readEventFrames = (chunks: readonly TimedChunk[]): EventFrames => {
  const bytes = joinBytes(chunks.map((chunk) => chunk.bytes))
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const arrivedAt = arrivals(chunks)
  const frames: EventFrame[] = []
  let start = 0
  const stop = (why: string): EventFrames => ({
    frames,
    unfinishedBytes: 0,
    problem: `message ${frames.length + 1} of the event stream: ${why}`,
  })
  while (bytes.length - start >= PRELUDE) {
    const length = view.getUint32(start)
    const headersLength = view.getUint32(start + 4)
    if (crc32Of(bytes.subarray(start, start + 8)) !== view.getUint32(start + 8))
      return stop('the checksum of its lengths does not match')
    const payloadStart = start + PRELUDE + headersLength
    const end = start + length
    if (length > FRAME_BYTES_MAX || payloadStart > end - CHECKSUM)
      return stop(`lengths of ${length} and ${headersLength} bytes are not possible`)
    if (end > bytes.length) break
    if (crc32Of(bytes.subarray(start, end - CHECKSUM)) !== view.getUint32(end - CHECKSUM))
      return stop('its checksum does not match')
    const headers = readHeaders(bytes.subarray(start + PRELUDE, payloadStart))
    if (headers === undefined) return stop('its headers cannot be read')
    const payload = bytes.subarray(payloadStart, end - CHECKSUM)
    frames.push({ headers, payload, at: arrivedAt(end) })
    start = end
  }
  return { frames, unfinishedBytes: bytes.length - start }
}

/** Arrival time of the byte before an offset; must be called in ascending order. */
const arrivals = (chunks: readonly TimedChunk[]): ((end: number) => number) => {
  let index = 0
  let reached = chunks[0]?.bytes.length ?? 0
  return (end) => {
    while (reached < end && index + 1 < chunks.length) reached += chunks[++index]?.bytes.length ?? 0
    return chunks[index]?.at ?? 0
  }
}

/** Length of a value by its type; `undefined` for types with an explicit length. */
const VALUE_BYTES: readonly (number | undefined)[] = [0, 0, 1, 2, 4, 8, undefined, undefined, 8, 16]
const TEXT = 7

const readHeaders = (bytes: Uint8Array): Map<string, string> | undefined => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const decoder = new TextDecoder()
  const headers = new Map<string, string>()
  let at = 0
  while (at < bytes.length) {
    const typeAt = at + 1 + (bytes[at] ?? 0)
    const type = bytes[typeAt]
    if (type === undefined || type >= VALUE_BYTES.length) return undefined
    const fixed = VALUE_BYTES[type]
    if (fixed === undefined && typeAt + 3 > bytes.length) return undefined
    const valueAt = typeAt + (fixed === undefined ? 3 : 1)
    const end = valueAt + (fixed ?? view.getUint16(typeAt + 1))
    if (end > bytes.length) return undefined
    if (type === TEXT) {
      const name = decoder.decode(bytes.subarray(at + 1, typeAt))
      headers.set(name, decoder.decode(bytes.subarray(valueAt, end)))
    }
    at = end
  }
  return headers
}
