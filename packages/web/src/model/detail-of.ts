import {
  type CallDetail,
  type Exchange,
  type ExchangeResponse,
  type HeaderPair,
  type Step,
  conversationMembers,
  isViewableJson,
} from '@retake/tape'
import { cutAt, type StepRow } from '@retake/tape/present'
import {
  clip,
  ClipBudget,
  clipError,
  clipMcp,
  clipMessages,
  cutText,
  LossyText,
  viewBody,
} from './clip.js'
import type { NewMessages } from './new-messages.js'
import { siteInStack } from './site-in-stack.js'
import type { CallView, Conversation, ResponseDetail, StepDetail } from './run-source.js'

const CHARACTERS_MAX = 262_144
const PIECES_MAX = 2000

function outputOf(output: CallDetail['output']): Pick<CallView, 'output' | 'outputBytes'> {
  const pipes = new Map<number, LossyText>()
  const shown: CallView['output'][number][] = []
  let room = CHARACTERS_MAX
  for (const { at, pipe, bytes } of output) {
    if (room <= 0 || shown.length === PIECES_MAX) break
    const reader = pipes.get(pipe) ?? new LossyText()
    pipes.set(pipe, reader)
    // Bytes beyond the character limit would not be shown.
    const { text, isLossy } = reader.read(bytes.subarray(0, room))
    room -= bytes.length
    shown.push({ at, pipe, text: cutAt(text, CHARACTERS_MAX), ...(isLossy && { isLossy }) })
  }
  const total = output.reduce((sum, { bytes }) => sum + bytes.length, 0)
  const isCut = room < 0 || shown.length < output.length
  return { output: shown, ...(isCut && { outputBytes: total }) }
}

/** Messages of a long conversation: shown by default, and at most. */
const MESSAGES = 60
const MESSAGES_MAX = 1000
/** Limits for the events of a stream: number, and characters of each. */
const EVENTS = 300
const EVENT_TEXT = 4096
const HEADERS = 500
const HEADER = 32_768
const LINE = 8192

interface DetailOptions {
  readonly row: StepRow
  readonly news: (step: Step) => NewMessages
  readonly messagesFrom?: number | undefined
}

export function detailOf(step: Step, options: DetailOptions): StepDetail {
  const exchange = step.exchange()
  const budget = new ClipBudget()
  const { failure } = step
  const mcp = step.mcp()
  const call = step.call()
  return {
    ...options.row,
    error: step.error === undefined ? undefined : cutText(step.error, LINE),
    parent: step.parent,
    number: step.number,
    startedAt: step.startedAt,
    timeToFirstChunkMs: step.timeToFirstChunkMs,
    site: step.site ?? siteInStack(failure),
    scopes: step.within,
    answeredSeq: step.answerSeqs.at(-1),
    usage: step.usage,
    finishReason: step.finishReason,
    conversation:
      exchange && step.kind === 'model' ? conversationOf(step, exchange, options) : undefined,
    request: exchange && {
      method: exchange.request.method,
      url: cutText(exchange.request.url, HEADER),
      headers: headersOf(exchange.request.headers),
      isCut: [exchange.request.url, ...exchange.request.headers.flat()].some(
        ({ length }) => length > HEADER,
      ),
      body: viewBody(exchange.request.body, exchange.request.text, isJsonBody(exchange.request)),
    },
    response: exchange?.response && responseOf(step, exchange.response),
    call:
      call === undefined
        ? undefined
        : {
            name: cutText(call.name, LINE),
            args: clip(call.args, budget),
            result: clip(call.result, budget),
            error: call.error && clipError(call.error, budget),
            ...outputOf(call.output),
          },
    guard: step.guard,
    mcp: mcp && clipMcp(mcp, budget),
    failure: failure && clipError(failure, budget),
  }
}

function conversationOf(
  step: Step,
  { api, messages, answer }: Exchange,
  { news, messagesFrom = messages.length - MESSAGES }: DetailOptions,
): Conversation {
  const from = Number.isInteger(messagesFrom)
    ? Math.min(Math.max(0, messagesFrom), messages.length)
    : 0
  const budget = new ClipBudget()
  return {
    total: messages.length,
    from,
    // The answer comes first, so that a long request cannot use up its budget.
    answer: clipMessages(answer, budget),
    messages: clipMessages(messages.slice(from, from + MESSAGES_MAX), budget),
    members: [...conversationMembers(api)],
    ...news(step),
  }
}

const headersOf = (headers: readonly HeaderPair[]): HeaderPair[] =>
  headers.slice(0, HEADERS).map(([name, value]) => [cutText(name, HEADER), cutText(value, HEADER)])

/** True for JSON that is too deep to be parsed here, too: the tree of the viewer is not recursive. */
const isJsonBody = ({ json, text }: Pick<ExchangeResponse, 'json' | 'text'>): boolean =>
  json !== undefined || (text !== undefined && isViewableJson(text))

function responseOf(step: Step, response: ExchangeResponse): ResponseDetail {
  const { status, statusText, headers, body, text, chunks, complete } = response
  const { problem, undecoded, events } = response
  return {
    status,
    statusText,
    headers: headersOf(headers),
    body: viewBody(body, text, events === undefined && isJsonBody(response)),
    chunks: chunks.length,
    complete,
    problem,
    undecoded,
    ...(events && {
      events: {
        total: events.length,
        events: events.slice(0, EVENTS).map(({ at, event, data, id }) => {
          const head = cutAt(data, EVENT_TEXT)
          return {
            at: at - step.at,
            event: cutText(event, EVENT_TEXT),
            data: head,
            ...(id !== undefined && { id: cutText(id, EVENT_TEXT) }),
            ...(head.length < data.length && { clipped: true }),
          }
        }),
      },
    }),
  }
}
