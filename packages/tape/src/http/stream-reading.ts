import { readFrameEvents } from './frame-events.js'
import { readJsonLines } from './json-lines.js'
import { parseSse, type SseEvent, type TimedChunk } from './sse.js'

/** A streamed body as events, whatever framing it came in. */
export interface StreamReading {
  readonly events: readonly SseEvent[]
  /** Why it could not be read to its end; a stream that only broke off has none. */
  readonly problem?: string
}

const JSON_LINES = /^application\/(x-)?(ndjson|jsonl|json-lines|jsonlines)\b/i

/** The events of a body by its content type; `undefined` when that is no stream. */
export const readStream = (
  contentType: string,
  chunks: readonly TimedChunk[],
): StreamReading | undefined => {
  if (/^text\/event-stream\b/i.test(contentType)) return { events: parseSse(chunks) }
  if (/^application\/vnd\.amazon\.eventstream\b/i.test(contentType)) return readFrameEvents(chunks)
  if (JSON_LINES.test(contentType)) return { events: readJsonLines(chunks) }
  return undefined
}
