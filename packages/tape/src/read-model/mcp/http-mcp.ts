import type { RequestEvent } from '../../format/events.js'
import type { AnswerHead } from '../http-answer.js'
import type { ExchangeReader } from '../exchange.js'
import type { CallDetail, StepKind, StepState } from '../step.js'
import { httpExchange, httpMessage, type HttpMessage } from './http-message.js'
import type { HttpServers } from './http-servers.js'
import {
  isToolCall,
  mcpCall,
  mcpFailure,
  mcpTitle,
  needsInput,
  toolOf,
  type McpExchange,
} from './mcp-exchange.js'

/** What an HTTP request is when it is one of the Model Context Protocol. */
export class HttpMcp {
  readonly #event: RequestEvent
  readonly #reader: ExchangeReader
  readonly #servers: HttpServers
  readonly #message: HttpMessage
  #facts: { title: string; failure: string | undefined; isAnswered: boolean } | undefined

  private constructor(
    event: RequestEvent,
    message: HttpMessage,
    { reader, servers }: { readonly reader: ExchangeReader; readonly servers: HttpServers },
  ) {
    this.#event = event
    this.#reader = reader
    this.#servers = servers
    this.#message = message
  }

  static of(
    event: RequestEvent,
    tools: { readonly reader: ExchangeReader; readonly servers: HttpServers },
  ): HttpMcp | undefined {
    const message = httpMessage(event, () => tools.reader.requestText())
    return message && new HttpMcp(event, message, tools)
  }

  get kind(): StepKind {
    const { kind } = this.#message
    const isTool = kind === 'request' && isToolCall({ ...this.#message, askedBy: 'client' })
    return isTool ? 'tool' : 'mcp'
  }

  /** The tool that is called, if one is. */
  get toolName(): string | undefined {
    const message = this.#message
    return this.kind === 'tool' && message.kind === 'request'
      ? toolOf(message.params).name
      : undefined
  }

  get title(): string {
    return this.#read().title
  }

  /** What the answer says went wrong. */
  get failure(): string | undefined {
    return this.#read().failure
  }

  /** `undefined` when the state of the HTTP exchange is the state of the step. */
  stateBy(head: AnswerHead | undefined): StepState | undefined {
    const { failure, isAnswered } = this.#read()
    if (failure !== undefined) return 'failed'
    // What follows the answer on a stream is not awaited.
    if (isAnswered) return 'done'
    const { kind } = this.#message
    if (head === undefined || kind === 'request' || kind === 'batch') return undefined
    const isRefused = (kind === 'listen' || kind === 'end') && head.status === NOT_OFFERED
    return head.status < 400 || isRefused ? 'done' : undefined
  }

  call(): CallDetail {
    return mcpCall(this.exchange())
  }

  exchange(): McpExchange {
    const message = this.#message
    const request =
      message.kind === 'answer'
        ? this.#servers.askedAt(this.#event.url, message.id, this.#event.seq)
        : undefined
    const server = this.#servers.nameAt(this.#event.url)
    return httpExchange(message, this.#reader.read().response, { request, server })
  }

  #read(): { title: string; failure: string | undefined; isAnswered: boolean } {
    if (this.#facts !== undefined) return this.#facts
    const exchange = this.exchange()
    const { result, error } = exchange
    const isAnswer = this.#message.kind === 'answer'
    const notOffered =
      this.#message.kind === 'listen' && this.#reader.head?.status === NOT_OFFERED
        ? ' (not offered)'
        : ''
    return (this.#facts = {
      title: mcpTitle(exchange, { isInputRequired: needsInput(result) }) + notOffered,
      failure: isAnswer && error === undefined ? undefined : mcpFailure(exchange),
      isAnswered: !isAnswer && (result !== undefined || error !== undefined),
    })
  }
}

/** A server need not have a stream to listen to, nor end sessions. */
const NOT_OFFERED = 405
