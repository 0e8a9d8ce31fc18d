import { sseText } from '../../http/sse.js'
import type { AnswerFormat, ScriptedFormat, StreamEvent } from './provider.js'
import { cutReply, type Reply, type ScriptedError } from './reply.js'

type Headers = Readonly<Record<string, string>>

export interface WireAnswer {
  readonly status: number
  readonly headers: Headers
  /** One piece for a document, several for a stream: each is written separately. */
  readonly pieces: readonly (string | Uint8Array)[]
}

export const jsonAnswer = (body: unknown, headers: Headers = {}, status = 200): WireAnswer => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  pieces: [JSON.stringify(body)],
})

export const streamAnswer = (
  { frame = sseFrame, streamType }: Pick<AnswerFormat, 'frame' | 'streamType'>,
  events: readonly StreamEvent[],
  headers: Headers = {},
): WireAnswer => ({
  status: 200,
  headers: {
    ...(streamType === undefined
      ? { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }
      : { 'content-type': streamType }),
    ...headers,
  },
  pieces: events.map(frame),
})

export const sseFrame = ({ data, event }: StreamEvent): string => sseText(data, event)

export const scriptedFormat = ({
  answers,
  headers,
  ...named
}: Pick<ScriptedFormat, 'format' | 'path'> & {
  readonly answers: AnswerFormat
  readonly headers?: (reply: Reply) => Headers
}): ScriptedFormat => ({
  ...named,
  answer: (reply, request) => {
    const document = answers.encode(reply, request)
    if (!request.stream) return jsonAnswer(document, headers?.(reply))
    const options = { events: [], request: request.body, cut: cutReply(reply) }
    return streamAnswer(answers, answers.restream(document, options), headers?.(reply))
  },
})

/** Headers that make clients wait, or not retry. */
export const retryHeaders = ({ status, retryAfter }: ScriptedError): Headers => ({
  ...(retryAfter !== undefined && { 'retry-after': String(retryAfter) }),
  ...(status === 404 && { 'x-should-retry': 'false' }),
})
