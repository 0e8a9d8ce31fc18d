import type { RequestEvent } from '../../format/events.js'
import type { AnswerHead } from '../http-answer.js'
import { ExchangeReader, type ExchangeResponse } from '../exchange.js'
import type { CallDetail, StepKind, StepState } from '../step.js'
import {
  framesIn,
  idKey,
  isMcpFrame,
  isToolCall,
  mcpCall,
  type McpExchange,
  mcpFailure,
  mcpTitle,
  needsInput,
  type RpcFrame,
  type RpcId,
  serverInfoIn,
  toolOf,
} from './json-rpc.js'
import type { StepContext } from '../step-base.js'
import { headerValue } from '../../http/http1.js'
import { parseJson } from '../../format/values/json-shape.js'

/**
 * Purpose of a client's HTTP request. `answer`: the client answers a request that the server made
 * on a stream. `listen` and `end` have no message.
 */
type HttpMessage =
  | Exclude<RpcFrame, { readonly kind: 'answer' }>
  | (Extract<RpcFrame, { readonly kind: 'answer' }> & { readonly id: RpcId })
  | { readonly kind: 'batch'; readonly frames: readonly RpcFrame[] }
  | { readonly kind: 'listen' }
  | { readonly kind: 'end' }

/** The message in an HTTP request; `undefined` if it is not MCP. */
const httpMessage = (
  { method, headers }: RequestEvent,
  body: () => string | undefined,
): HttpMessage | undefined => {
  const isMarked = hasMcpHeader(headers)
  if (method === 'GET') return isListening({ method, headers }) ? { kind: 'listen' } : undefined
  if (method === 'DELETE') return isMarked ? { kind: 'end' } : undefined
  const text = method === 'POST' ? body() : undefined
  if (text?.includes('"jsonrpc"') !== true) return undefined
  const frames = framesIn(parseJson(text))
  const [frame, ...more] = frames
  if (frame === undefined || (!isMarked && !frames.some(isMcpFrame))) return undefined
  if (more.length > 0) return { kind: 'batch', frames }
  if (frame.kind !== 'answer') return frame
  return frame.id === undefined ? undefined : { ...frame, id: frame.id }
}

const hasMcpHeader = (headers: RequestEvent['headers']): boolean =>
  HEADERS.some((name) => headerValue(headers, name) !== undefined)

const HEADERS = ['mcp-protocol-version', 'mcp-session-id', 'mcp-method']

/** True if a request opens a stream for unsolicited messages of a server. It may stay open forever. */
export const isListening = ({
  method,
  headers,
}: Pick<RequestEvent, 'method' | 'headers'>): boolean =>
  method === 'GET' &&
  hasMcpHeader(headers) &&
  (headerValue(headers, 'accept') ?? '').includes('text/event-stream')

const framesOf = (
  response: ExchangeResponse | undefined,
): (RpcFrame & { readonly at: number })[] => {
  if (response?.events === undefined) {
    const at = response?.chunks.at(-1)?.at ?? 0
    return framesIn(response?.json).map((frame) => ({ ...frame, at }))
  }
  return response.events.flatMap(({ data, at }) =>
    framesIn(parseJson(data)).map((frame) => ({ ...frame, at })),
  )
}

/** The message with its outcome. `request`: the server's request that an answer belongs to. */
const httpExchange = (
  message: HttpMessage,
  response: ExchangeResponse | undefined,
  {
    request,
    server,
  }: {
    readonly request: { readonly method: string; readonly params: unknown } | undefined
    readonly server: string | undefined
  },
): McpExchange => {
  const frames = framesOf(response)
  const answers = frames.filter((frame) => frame.kind === 'answer')
  const base = {
    transport: 'http',
    server,
    askedBy: 'client',
    id: undefined,
    params: undefined,
    result: undefined,
    error: undefined,
    notifications: frames
      .filter((frame) => frame.kind !== 'answer')
      .map(({ at, method, params }) => ({ at, method, params })),
  } as const
  switch (message.kind) {
    case 'listen':
      return { ...base, method: 'listen' }
    case 'end':
      return { ...base, method: 'end session' }
    case 'notification': {
      const { method, params } = message
      // A refused notification is answered without an id.
      return { ...base, method, params, error: answers[0]?.error }
    }
    case 'answer': {
      const { id, result, error } = message
      const { method = 'answer', params } = request ?? {}
      return { ...base, askedBy: 'server', id, method, params, result, error }
    }
    case 'batch': {
      const methods = message.frames.map((frame) =>
        frame.kind === 'answer' ? 'answer' : frame.method,
      )
      const results = answers.map(({ id, result, error }) => ({
        id,
        ...(error === undefined ? { result } : { error }),
      }))
      return {
        ...base,
        method: `batch of ${methods.join(', ')}`,
        params: message.frames,
        result: results.length === 0 ? undefined : results,
      }
    }
    case 'request': {
      const { id, method, params } = message
      // An answer without an id belongs to the only request that was sent.
      const { result, error } =
        answers.find((answer) => answer.id === undefined || idKey(answer.id) === idKey(id)) ?? {}
      return { ...base, id, method, params, result, error }
    }
  }
}

type Sent = { readonly event: RequestEvent; readonly reader: ExchangeReader }

/** Facts that exchanges with one address share: the name of the server, and its own requests. */
export class HttpServers {
  readonly #names = new Map<string, string | undefined>()

  constructor(private readonly context: StepContext) {}

  nameAt(url: string): string | undefined {
    if (!this.#names.has(url)) this.#names.set(url, this.#findName(url))
    return this.#names.get(url)
  }

  /** A request that the server made on one of its streams before an event. */
  askedAt(
    url: string,
    id: RpcId,
    before: number,
  ): { readonly method: string; readonly params: unknown } | undefined {
    for (const { event, reader } of this.#sentTo(url).toReversed()) {
      if (event.seq >= before) continue
      const found = framesOf(reader.read().response).find(
        (frame) => frame.kind === 'request' && idKey(frame.id) === idKey(id),
      )
      if (found?.kind === 'request') return found
    }
    return undefined
  }

  #findName(url: string): string | undefined {
    for (const { event, reader } of this.#sentTo(url)) {
      const message = httpMessage(event, () => reader.requestText())
      if (message?.kind !== 'request') continue
      for (const frame of framesOf(reader.read().response)) {
        const info = frame.kind === 'answer' ? serverInfoIn(frame.result) : undefined
        if (info !== undefined) return info.name
      }
      // The handshake comes first; the newer protocol repeats the server's name in every answer.
      if (message.method === 'tools/call') return undefined
    }
    return undefined
  }

  #sentTo(url: string): Sent[] {
    return this.context.index.steps
      .filter((step) => 'event' in step)
      .filter(({ event }) => event.type === 'request' && event.url === url)
      .map((op) => {
        const { event } = op as typeof op & { readonly event: RequestEvent }
        return { event, reader: new ExchangeReader(this.context, { ...op, event }) }
      })
  }
}

export class HttpMcp {
  #facts: { title: string; failure: string | undefined; isAnswered: boolean } | undefined

  private constructor(
    private readonly event: RequestEvent,
    private readonly message: HttpMessage,
    private readonly tools: { readonly reader: ExchangeReader; readonly servers: HttpServers },
  ) {}

  static of(
    event: RequestEvent,
    tools: { readonly reader: ExchangeReader; readonly servers: HttpServers },
  ): HttpMcp | undefined {
    const message = httpMessage(event, () => tools.reader.requestText())
    return message && new HttpMcp(event, message, tools)
  }

  get kind(): StepKind {
    const { kind } = this.message
    const isTool = kind === 'request' && isToolCall({ ...this.message, askedBy: 'client' })
    return isTool ? 'tool' : 'mcp'
  }

  get toolName(): string | undefined {
    const message = this.message
    return this.kind === 'tool' && message.kind === 'request'
      ? toolOf(message.params).name
      : undefined
  }

  get title(): string {
    return this.#read().title
  }

  get failure(): string | undefined {
    return this.#read().failure
  }

  /** Undefined if the step has the same state as its HTTP exchange. */
  stateBy(head: AnswerHead | undefined): StepState | undefined {
    const { failure, isAnswered } = this.#read()
    if (failure !== undefined) return 'failed'
    // Nobody waits for messages that follow the answer on a stream.
    if (isAnswered) return 'done'
    const { kind } = this.message
    if (head === undefined || kind === 'request' || kind === 'batch') return undefined
    const isRefused = (kind === 'listen' || kind === 'end') && head.status === NOT_OFFERED
    return head.status < 400 || isRefused ? 'done' : undefined
  }

  call(): CallDetail {
    return mcpCall(this.exchange())
  }

  exchange(): McpExchange {
    const message = this.message
    const request =
      message.kind === 'answer'
        ? this.tools.servers.askedAt(this.event.url, message.id, this.event.seq)
        : undefined
    const server = this.tools.servers.nameAt(this.event.url)
    return httpExchange(message, this.tools.reader.read().response, { request, server })
  }

  #read(): { title: string; failure: string | undefined; isAnswered: boolean } {
    if (this.#facts !== undefined) return this.#facts
    const exchange = this.exchange()
    const { result, error } = exchange
    const isAnswer = this.message.kind === 'answer'
    const notOffered =
      this.message.kind === 'listen' && this.tools.reader.head?.status === NOT_OFFERED
        ? ' (not offered)'
        : ''
    return (this.#facts = {
      title: mcpTitle(exchange, { isInputRequired: needsInput(result) }) + notOffered,
      failure: isAnswer && error === undefined ? undefined : mcpFailure(exchange),
      isAnswered: !isAnswer && (result !== undefined || error !== undefined),
    })
  }
}

/** A server may support neither a listening stream nor ending a session. */
const NOT_OFFERED = 405
