import type { Message } from '../providers/specification/message.js'
import type { SseEvent } from '../http/sse.js'
import type { ExchangeResponse } from './exchange.js'

export interface AnswerFrame {
  /** Milliseconds since the run started. */
  readonly at: number
  readonly answer: readonly Message[]
}

export interface FrameLimits {
  readonly framesMax?: number
  /** Limit of decoded bytes. Each frame is decoded from the start, so long streams get fewer frames. */
  readonly bytesMax?: number
}

/** The beginning of a response: the events of a stream, or the text if it is not an event stream. */
export type ResponsePart =
  | { readonly events: readonly SseEvent[] }
  | { readonly text: string; readonly json: undefined }

/**
 * A streamed answer as it grew, with the arrival times of its pieces. Every frame is the decoded
 * stream so far, so the last one is the whole answer. Long streams are thinned out evenly.
 */
export function answerFrames(
  response: ExchangeResponse,
  decode: (part: ResponsePart) => readonly Message[],
  { framesMax = 150, bytesMax = 16_000_000 }: FrameLimits = {},
): AnswerFrame[] {
  const { events } = response
  // One cut for each moment at which events arrived.
  const cuts =
    events?.flatMap(({ at }, index): Cut[] =>
      events[index + 1]?.at === at
        ? []
        : [{ at, part: () => ({ events: events.slice(0, index + 1) }) }],
    ) ?? textCuts(response)
  const size = Math.max(1, response.body.length)
  // On average a frame decodes half of the stream.
  const affordable = Math.max(2, Math.floor((2 * bytesMax) / size))
  const frames: AnswerFrame[] = []
  let shown = '[]'
  for (const { at, part } of thinOut(cuts, Math.min(framesMax, affordable))) {
    const answer = decode(part())
    const text = JSON.stringify(answer)
    if (text === shown) continue
    shown = text
    frames.push({ at, answer })
  }
  return frames
}

interface Cut {
  readonly at: number
  readonly part: () => ResponsePart
}

/** A JSON array may be streamed, too: its prefixes are read as text, the whole is decoded normally. */
function textCuts({ chunks, text, json }: ExchangeResponse): Cut[] {
  if (text === undefined) return []
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  let length = 0
  return chunks.map(({ at, bytes }, index): Cut => {
    length += decoder.decode(bytes, { stream: true }).length
    const end = length
    const whole = { text, json } as ResponsePart
    return {
      at,
      part: () =>
        index === chunks.length - 1 ? whole : { text: text.slice(0, end), json: undefined },
    }
  })
}

/** At most `max` items, evenly distributed, including the first and the last. */
function thinOut<T>(all: readonly T[], max: number): T[] {
  if (all.length <= max) return [...all]
  const last = all.length - 1
  const indexes = Array.from({ length: max }, (_, index) => Math.round((index * last) / (max - 1)))
  return [...new Set(indexes)].flatMap((index) => all.slice(index, index + 1))
}
