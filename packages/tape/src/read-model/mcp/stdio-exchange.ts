import { parseJson } from '../../values/json-shape.js'
import type { TapeLike } from '../../format/tape-like.js'
import { framesIn, idKey, type RpcFrame, type RpcId } from './json-rpc.js'
import type { McpExchange, McpNotification } from './mcp-exchange.js'
import type { StdioRequest, StdioSession } from './stdio-session.js'

/** What was asked, read from the tape again. */
export const readStdioParams = (
  tape: TapeLike,
  { id, method, requestSeqs }: StdioRequest,
): unknown => {
  const found = framesAt(tape, requestSeqs).find(
    (frame) => frame.kind === 'request' && frame.method === method && isSameId(frame.id, id),
  )
  return found?.kind === 'request' ? found.params : undefined
}

/** The contents of a request and its answer, read from the tape again. */
export const readStdioExchange = (
  tape: TapeLike,
  request: StdioRequest,
  { server }: Pick<StdioSession, 'server'>,
): McpExchange => {
  const { askedBy, id, method, answered, notified } = request
  const answer = framesAt(tape, answered?.seqs ?? []).find(
    (frame) => frame.kind === 'answer' && isSameId(frame.id, id),
  )
  const { result, error } = answer?.kind === 'answer' ? answer : {}
  return {
    transport: 'stdio',
    server: server?.name,
    askedBy,
    method,
    id,
    params: readStdioParams(tape, request),
    result,
    error,
    notifications: notified.flatMap(({ at, seqs }) => progressAt(tape, seqs, at)),
  }
}

const isSameId = (left: RpcId | undefined, right: RpcId): boolean =>
  left !== undefined && idKey(left) === idKey(right)

/** Pieces that were read last: many messages may stand in one, and each is looked for by itself. */
const PIECES_MAX = 8
const lastRead = new WeakMap<TapeLike, Map<string, readonly RpcFrame[]>>()

const framesAt = (tape: TapeLike, seqs: readonly number[]): readonly RpcFrame[] => {
  const read = lastRead.get(tape) ?? new Map<string, readonly RpcFrame[]>()
  lastRead.set(tape, read)
  const key = seqs.join(' ')
  const known = read.get(key)
  if (known !== undefined) return known
  const frames = linesAt(tape, seqs).flatMap((line) => framesIn(parseJson(line)))
  const [oldest] = read.keys()
  if (read.size >= PIECES_MAX && oldest !== undefined) read.delete(oldest)
  read.set(key, frames)
  return frames
}

/** The lines that some events carry together; the first and the last may be cut. */
const linesAt = (tape: TapeLike, seqs: readonly number[]): string[] => {
  const decoder = new TextDecoder()
  return seqs
    .map((seq) => decoder.decode(tape.body(seq), { stream: true }))
    .join('')
    .split('\n')
}

const progressAt = (tape: TapeLike, seqs: readonly number[], at: number): McpNotification[] =>
  framesAt(tape, seqs)
    .filter((frame) => frame.kind === 'notification')
    .filter(({ method }) => method === 'notifications/progress')
    .map(({ method, params }) => ({ at, method, params }))
