import { isRecord, recordOf } from '../../values/json-shape.js'

/** Methods that no other protocol over JSON-RPC has. `tasks/…` and `ping` are used by others too. */
const METHOD =
  /^(server\/discover|(tools|resources|prompts|sampling|elicitation|roots|completion|logging|subscriptions|notifications)\/.+)$/

/** Whether a message belongs to the Model Context Protocol, going by itself alone. */
export const isMcpFrame = (frame: RpcFrame): boolean => {
  if (frame.kind === 'answer') return false
  if (METHOD.test(frame.method)) return true
  // Others shake hands by `initialize` as well; here versions are dates.
  const { protocolVersion } = recordOf(frame.params)
  return (
    frame.method === 'initialize' &&
    typeof protocolVersion === 'string' &&
    /^\d{4}-\d\d-\d\d$/.test(protocolVersion)
  )
}

export type RpcId = string | number

/** The error of an answer, as JSON-RPC has it. */
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
      /** `undefined` when the other side could not read what was asked. */
      readonly id: RpcId | undefined
      readonly result: unknown
      readonly error: RpcError | undefined
    }

/** The messages in a piece of JSON: one, or those of a batch. None when it is no JSON-RPC 2.0. */
export const framesIn = (json: unknown): readonly RpcFrame[] =>
  (Array.isArray(json) ? json : [json]).map(frameOf).filter((frame) => frame !== undefined)

const frameOf = (json: unknown): RpcFrame | undefined => {
  if (!isRecord(json) || json['jsonrpc'] !== '2.0') return undefined
  const { method, params, result, error } = json
  const id = idOf(json['id'])
  if (typeof method === 'string') {
    return id === undefined
      ? { kind: 'notification', method, params }
      : { kind: 'request', id, method, params }
  }
  if (result === undefined && error === undefined) return undefined
  return { kind: 'answer', id, result, error: error === undefined ? undefined : errorOf(error) }
}

const idOf = (id: unknown): RpcId | undefined =>
  typeof id === 'string' || typeof id === 'number' ? id : undefined

const errorOf = (error: unknown): RpcError => {
  const { code, message, data } = recordOf(error)
  return {
    code: typeof code === 'number' ? code : undefined,
    message: typeof message === 'string' ? message : JSON.stringify(error),
    ...(data !== undefined && { data }),
  }
}

/** Ids are compared with their type: 1 and "1" are two requests. */
export const idKey = (id: RpcId): string => `${typeof id} ${id}`
