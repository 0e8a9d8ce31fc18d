import type { RequestEvent } from '../../format/events.js'
import { headerValue } from '../../http/http1-body.js'
import { parseJson } from '../../values/json-shape.js'
import type { ExchangeResponse } from '../exchange.js'
import { isMcpFrame } from './json-rpc.js'
import { framesIn, idKey, type RpcFrame, type RpcId } from './json-rpc.js'
import type { McpExchange, McpNotification } from './mcp-exchange.js'

/**
 * What one HTTP request of a client is for. `answer`: the client answers a request
 * that the server made on a stream. `listen` and `end` have no message.
 */
export type HttpMessage =
  | Exclude<RpcFrame, { readonly kind: 'answer' }>
  | (Extract<RpcFrame, { readonly kind: 'answer' }> & { readonly id: RpcId })
  | { readonly kind: 'batch'; readonly frames: readonly RpcFrame[] }
  | { readonly kind: 'listen' }
  | { readonly kind: 'end' }

/** The message in an HTTP request; `undefined` when it is no MCP. */
export const httpMessage = (
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

/** Whether a request opens a stream for what a server has to say by itself. It may stay open for ever. */
export const isListening = ({
  method,
  headers,
}: Pick<RequestEvent, 'method' | 'headers'>): boolean =>
  method === 'GET' &&
  hasMcpHeader(headers) &&
  (headerValue(headers, 'accept') ?? '').includes('text/event-stream')

/** All messages in an answer, whether it is JSON or a stream. */
export const framesOf = (
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

/** The message with what came of it. `asked`: the server's request that an answer belongs to. */
export const httpExchange = (
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
  const base = {
    transport: 'http',
    server,
    askedBy: 'client',
    id: undefined,
    params: undefined,
  } as const
  const facts = { notifications: notificationsIn(frames), result: undefined, error: undefined }
  switch (message.kind) {
    case 'listen':
      return { ...base, ...facts, method: 'listen' }
    case 'end':
      return { ...base, ...facts, method: 'end session' }
    case 'notification': {
      // A notification that was refused is answered without an id.
      const refusal = frames.find((frame) => frame.kind === 'answer')
      const { method, params } = message
      return { ...base, ...facts, method, params, error: refusal?.error }
    }
    case 'answer': {
      const { id, result, error } = message
      const method = request?.method ?? 'answer'
      return {
        ...base,
        ...facts,
        askedBy: 'server',
        id,
        method,
        params: request?.params,
        result,
        error,
      }
    }
    case 'batch': {
      const methods = message.frames.map((frame) =>
        frame.kind === 'answer' ? 'answer' : frame.method,
      )
      const results = frames
        .filter((frame) => frame.kind === 'answer')
        .map(({ id, result, error }) => ({ id, ...(error === undefined ? { result } : { error }) }))
      return {
        ...base,
        ...facts,
        method: `batch of ${methods.join(', ')}`,
        params: message.frames,
        result: results.length === 0 ? undefined : results,
      }
    }
    case 'request': {
      const { id, method, params } = message
      const answer = frames.find((frame) => frame.kind === 'answer' && isFor(frame.id, id))
      const { result, error } = answer?.kind === 'answer' ? answer : {}
      return { ...base, ...facts, id, method, params, result, error }
    }
  }
}

/** An answer without an id is for the only request that was sent. */
const isFor = (answered: RpcId | undefined, request: RpcId): boolean =>
  answered === undefined || idKey(answered) === idKey(request)

const notificationsIn = (
  frames: readonly (RpcFrame & { readonly at: number })[],
): McpNotification[] =>
  frames
    .filter((frame) => frame.kind !== 'answer')
    .map(({ at, method, params }) => ({ at, method, params }))
