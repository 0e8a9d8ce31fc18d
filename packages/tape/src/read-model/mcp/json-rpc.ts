import { isRecord, optionalText, recordOf, recordsOf } from '../../format/values/json-shape.js'
import { shortJson, shortText } from '../readable-value.js'
import type { CallDetail } from '../step.js'

/** A message of one side while it worked on a request: progress, a log line. */
export interface McpNotification {
  readonly at: number
  readonly method: string
  readonly params: unknown
}

/** A JSON-RPC request of the Model Context Protocol with its outcome. */
export interface McpExchange {
  readonly transport: 'stdio' | 'http'
  /** Name that the server reports, if any. */
  readonly server: string | undefined
  /** Servers also send requests to their clients: for a completion, roots or input. */
  readonly askedBy: 'client' | 'server'
  /** Method of the message; for HTTP without a message, its purpose: `listen`, `end session`. */
  readonly method: string
  readonly id: RpcId | undefined
  readonly params: unknown
  /** Undefined without an answer, or after an error. */
  readonly result: unknown
  readonly error: RpcError | undefined
  readonly notifications: readonly McpNotification[]
}

export interface McpServerInfo {
  readonly name: string
  readonly version: string | undefined
}

/** `tools/call` by the agent is a tool step; everything else belongs to the protocol. */
export const isToolCall = ({ method, askedBy }: Pick<McpExchange, 'method' | 'askedBy'>): boolean =>
  method === 'tools/call' && askedBy === 'client'

/** A server of the newer protocol may answer that it needs input first; the client then repeats the request. */
export const needsInput = (result: unknown): boolean =>
  recordOf(result)['resultType'] === 'input_required'

/** For example `search_docs({"query":"refunds"}) · docs` or `resources/read docs://guide · docs`. */
export const mcpTitle = (
  exchange: Pick<McpExchange, 'method' | 'askedBy' | 'params' | 'server'>,
  { isInputRequired = false } = {},
): string => {
  const { method, askedBy, params, server } = exchange
  const note = isInputRequired ? ' → input required' : ''
  const whose = `${server === undefined ? '' : ` ${askedBy === 'server' ? '←' : '·'} ${server}`}${note}`
  if (isToolCall(exchange)) {
    const { name, args } = toolOf(params)
    return `${name}(${shortJson(args, 80)})${whose}`
  }
  const { uri, name, ref } = recordOf(params)
  const target =
    optionalText(uri) ?? (method.startsWith('prompts/') ? optionalText(name) : undefined)
  const about = target ?? optionalText(recordOf(ref)['name']) ?? optionalText(recordOf(ref)['uri'])
  return `${method}${about === undefined ? '' : ` ${shortText(about, 60)}`}${whose}`
}

export const toolOf = (params: unknown): { name: string; args: unknown } => {
  const { name, arguments: args = {} } = recordOf(params)
  return { name: optionalText(name) ?? 'tool', args }
}

/** Name, arguments and result of a tool; for another request, its method, parameters and result. */
export const mcpCall = (exchange: McpExchange): CallDetail => {
  const { method, params, result, error } = exchange
  const { name, args } = isToolCall(exchange)
    ? toolOf(params)
    : { name: method, args: withoutEnvelope(params) }
  const failure = error && {
    class: 'McpError',
    name: 'McpError',
    message: error.message,
    ...(error.code !== undefined && { code: error.code }),
    ...(error.data !== undefined && { props: { data: error.data } }),
  }
  return { name, args, result, error: failure, output: [] }
}

/** Every request of the newer protocol repeats the client and the version. */
const withoutEnvelope = (params: unknown): unknown => {
  const { _meta: meta, ...rest } = recordOf(params)
  const own = Object.entries(recordOf(meta)).filter(
    ([key]) => !key.startsWith('io.modelcontextprotocol/'),
  )
  if (own.length > 0) return { ...rest, _meta: Object.fromEntries(own) }
  return meta === undefined ? params : rest
}

/** The failure in one line: the error of the protocol, or the tool's own description. */
export const mcpFailure = ({
  result,
  error,
}: Pick<McpExchange, 'result' | 'error'>): string | undefined => {
  if (error !== undefined) {
    const isCoded = error.code === undefined || error.message.includes(String(error.code))
    return shortText(isCoded ? error.message : `${error.code} ${error.message}`, 200)
  }
  const { isError, content } = recordOf(result)
  if (isError !== true) return undefined
  const texts = recordsOf(content).map(({ text }) => optionalText(text) ?? '')
  return shortText(texts.join(' '), 200) || 'the tool failed'
}

const SERVER_INFO = 'io.modelcontextprotocol/serverInfo'

/** The server of a result: from the handshake, or from every result of the newer protocol. */
export const serverInfoIn = (result: unknown): McpServerInfo | undefined => {
  const { serverInfo, _meta: meta } = recordOf(result)
  const { name, version } = recordOf(serverInfo ?? recordOf(meta)[SERVER_INFO])
  return typeof name === 'string' ? { name, version: optionalText(version) } : undefined
}

/** Methods that only MCP has. Other JSON-RPC protocols also use `tasks/…` and `ping`. */
const METHOD =
  /^(server\/discover|(tools|resources|prompts|sampling|elicitation|roots|completion|logging|subscriptions|notifications)\/.+)$/

/** True if a message alone shows that it belongs to the Model Context Protocol. */
export const isMcpFrame = (frame: RpcFrame): boolean => {
  if (frame.kind === 'answer') return false
  if (METHOD.test(frame.method)) return true
  // Other protocols also start with `initialize`, but only MCP versions are dates.
  const { protocolVersion } = recordOf(frame.params)
  return (
    frame.method === 'initialize' &&
    typeof protocolVersion === 'string' &&
    /^\d{4}-\d\d-\d\d$/.test(protocolVersion)
  )
}

export type RpcId = string | number

export interface RpcError {
  readonly code: number | undefined
  readonly message: string
  readonly data?: unknown
}

/** One JSON-RPC message. An answer has a result or an error. */
export type RpcFrame =
  | {
      readonly kind: 'request'
      readonly id: RpcId
      readonly method: string
      readonly params: unknown
    }
  | { readonly kind: 'notification'; readonly method: string; readonly params: unknown }
  | {
      readonly kind: 'answer'
      /** Undefined if the other side could not read the request. */
      readonly id: RpcId | undefined
      readonly result: unknown
      readonly error: RpcError | undefined
    }

/** The messages in a JSON value: one, or those of a batch. Empty if it is not JSON-RPC 2.0. */
export const framesIn = (json: unknown): readonly RpcFrame[] =>
  (Array.isArray(json) ? json : [json]).map(frameOf).filter((frame) => frame !== undefined)

const frameOf = (json: unknown): RpcFrame | undefined => {
  if (!isRecord(json) || json['jsonrpc'] !== '2.0') return undefined
  const { method, params, result, error } = json
  const id = isId(json['id']) ? json['id'] : undefined
  if (typeof method === 'string') {
    return id === undefined
      ? { kind: 'notification', method, params }
      : { kind: 'request', id, method, params }
  }
  if (result === undefined && error === undefined) return undefined
  if (error === undefined) return { kind: 'answer', id, result, error }
  const { code, message, data } = recordOf(error)
  const failure: RpcError = {
    code: typeof code === 'number' ? code : undefined,
    message: typeof message === 'string' ? message : JSON.stringify(error),
    ...(data !== undefined && { data }),
  }
  return { kind: 'answer', id, result, error: failure }
}

export const isId = (id: unknown): id is RpcId => typeof id === 'string' || typeof id === 'number'

/** Ids are compared with their type: 1 and "1" are two requests. */
export const idKey = (id: RpcId): string => `${typeof id} ${id}`
