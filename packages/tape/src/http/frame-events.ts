import { fromBase64 } from '../format/base64.js'
import { readEventFrames, type EventFrame } from './event-frames.js'
import { parseJson, recordOf } from '../providers/json-shape.js'
import type { SseEvent, TimedChunk } from './sse.js'
import type { StreamReading } from './stream-reading.js'

/**
 * The events in an AWS event stream, in the form of server-sent ones. An
 * exception has the name of its type (`throttlingException`). A `chunk` of
 * Bedrock carries the model's own JSON in base64, and is given as that JSON.
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
  return { event, data: event === 'chunk' ? chunkText(text) : text, at }
}

const chunkText = (text: string): string => {
  const { bytes } = recordOf(parseJson(text))
  if (typeof bytes !== 'string') return text
  try {
    return new TextDecoder().decode(fromBase64(bytes))
  } catch {
    return text
  }
}
