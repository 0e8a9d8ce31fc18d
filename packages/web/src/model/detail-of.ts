import type { Exchange, Message, RunView, Step, Tape } from '@retake/tape'
import { clip, viewBody } from './clip.js'
import { rowOf } from './row-of.js'
import type { RunStatus } from './run-head.js'
import type { CallView, Conversation, StepDetail } from './step-detail.js'

/** Messages of a long conversation that are shown without being asked for. */
const MESSAGES = 60

export interface DetailOptions {
  readonly status: RunStatus
  readonly messagesFrom?: number
}

/** Everything about one step that is not too large to be shown. */
export function detailOf(
  tape: Tape,
  _view: RunView,
  step: Step,
  { status, messagesFrom }: DetailOptions,
): StepDetail {
  const exchange = step.exchange()
  return {
    ...rowOf(tape, step, status),
    parent: step.parent,
    number: step.number,
    startedAt: step.startedAt,
    timeToFirstChunkMs: step.timeToFirstChunkMs,
    site: step.site,
    places: step.within,
    answeredSeq: step.answerSeqs.at(-1),
    usage: step.usage,
    finishReason: step.finishReason,
    conversation: step.kind === 'model' ? conversationOf(exchange, messagesFrom) : undefined,
    request: exchange && {
      method: exchange.request.method,
      url: exchange.request.url,
      headers: exchange.request.headers,
      body: viewBody(
        exchange.request.body,
        exchange.request.text,
        exchange.request.json !== undefined,
      ),
    },
    response: exchange?.response && {
      status: exchange.response.status,
      statusText: exchange.response.statusText,
      headers: exchange.response.headers,
      body: viewBody(
        exchange.response.body,
        exchange.response.text,
        exchange.response.json !== undefined,
      ),
      chunks: exchange.response.chunks.length,
      complete: exchange.response.complete,
      problem: exchange.response.problem,
      undecoded: exchange.response.undecoded,
    },
    call: callOf(step),
    mcp: clip(step.mcp()) as StepDetail['mcp'],
    failure: step.call()?.error,
  }
}

function conversationOf(
  exchange: Exchange | undefined,
  messagesFrom: number | undefined,
): Conversation | undefined {
  if (exchange === undefined) return undefined
  const { messages, answer } = exchange
  const from = messagesFrom ?? Math.max(0, messages.length - MESSAGES)
  return {
    total: messages.length,
    from,
    messages: clip(messages.slice(from)) as Message[],
    newFrom: 0,
    answer: clip(answer) as Message[],
  }
}

const lossyText = new TextDecoder()

function callOf(step: Step): CallView | undefined {
  const call = step.call()
  if (call === undefined) return undefined
  return {
    name: call.name,
    args: clip(call.args),
    result: clip(call.result),
    error: call.error,
    output: call.output.map(({ at, pipe, bytes }) => ({ at, pipe, text: lossyText.decode(bytes) })),
  }
}
