import { readFrameEvents } from './event-frames.js'
import { parseSse, type SseEvent, type TimedChunk } from './sse.js'

/**
 * Lines of JSON as events, out of chunks cut anywhere. The last line counts
 * without its line end: whether it is whole shows when it is parsed.
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
