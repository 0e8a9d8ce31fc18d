import { pushTo } from '../../format/values/collections.js'
import { defined, optionalText, parseJson, recordOf } from '../../format/values/json-shape.js'
import type { EventMark, StepOp } from '../run-index.js'
import type { TapeLike } from '../../format/tape-like.js'
import {
  framesIn,
  idKey,
  isId,
  isMcpFrame,
  type McpExchange,
  mcpFailure,
  type McpServerInfo,
  needsInput,
  type RpcFrame,
  type RpcId,
  serverInfoIn,
} from './json-rpc.js'

/** Parameters of a request, read from the tape on demand. */
export const readStdioParams = (
  tape: TapeLike,
  { id, method, requestSeqs }: StdioRequest,
): unknown => {
  const found = framesAt(tape, requestSeqs).find(
    (frame) => frame.kind === 'request' && frame.method === method && isSameId(frame.id, id),
  )
  return found?.kind === 'request' ? found.params : undefined
}

/** The contents of a request and its answer, read from the tape on demand. */
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
    notifications: notified.flatMap(({ at, seqs }) =>
      framesAt(tape, seqs).flatMap((frame) =>
        frame.kind === 'notification' && frame.method === 'notifications/progress'
          ? [{ at, method: frame.method, params: frame.params }]
          : [],
      ),
    ),
  }
}

const isSameId = (left: RpcId | undefined, right: RpcId): boolean =>
  left !== undefined && idKey(left) === idKey(right)

/** Number of cached pieces: one may contain many messages, and each is looked up separately. */
const PIECES_MAX = 8
const lastRead = new WeakMap<TapeLike, Map<string, readonly RpcFrame[]>>()

const framesAt = (tape: TapeLike, seqs: readonly number[]): readonly RpcFrame[] => {
  const read = lastRead.get(tape) ?? new Map<string, readonly RpcFrame[]>()
  lastRead.set(tape, read)
  const key = seqs.join(' ')
  const known = read.get(key)
  if (known !== undefined) return known
  const decoder = new TextDecoder()
  const text = seqs.map((seq) => decoder.decode(tape.body(seq), { stream: true })).join('')
  // The first and the last line may be incomplete.
  const frames = text.split('\n').flatMap((line) => framesIn(parseJson(line)))
  const [oldest] = read.keys()
  if (read.size >= PIECES_MAX && oldest !== undefined) read.delete(oldest)
  read.set(key, frames)
  return frames
}

interface ReadLine {
  readonly text: string
  readonly first: EventMark
  /** Position of its newline; without one, the last piece of the stream. */
  readonly last: EventMark
  readonly seqs: readonly number[]
}

/** Joins lines from pieces that may be split anywhere, even inside a character. */
class LineReader {
  readonly #decoder = new TextDecoder()
  #pending = ''
  #marks: EventMark[] = []

  push(mark: EventMark, bytes: Uint8Array): ReadLine[] {
    const pieces = this.#decoder.decode(bytes, { stream: true }).split('\n')
    const lines: ReadLine[] = []
    for (const [index, piece] of pieces.entries()) {
      if (this.#marks.at(-1) !== mark && bytes.length > 0) this.#marks.push(mark)
      this.#pending += piece
      if (index < pieces.length - 1) lines.push(this.#take())
    }
    // A piece that ends with a newline contains no part of the next line.
    if (this.#pending === '' && lines.length > 0) this.#marks = []
    return lines
  }

  /** Text after the last newline. */
  rest(): ReadLine | undefined {
    this.#pending += this.#decoder.decode()
    return this.#pending === '' || this.#marks.length === 0 ? undefined : this.#take()
  }

  #take(): ReadLine {
    const marks = this.#marks
    const [first] = marks as [EventMark]
    const last = marks.at(-1) as EventMark
    const line = {
      text: this.#pending.replace(/\r$/, ''),
      first,
      last,
      seqs: marks.map(({ seq }) => seq),
    }
    this.#pending = ''
    this.#marks = []
    return line
  }
}

/** A request on the pipes of a child process: positions of the request and its answer, without their contents. */
export interface StdioRequest {
  readonly askedBy: McpExchange['askedBy']
  readonly id: RpcId
  readonly method: string
  /** The event that starts the step: where the agent wrote the request, or where the server's was complete. */
  readonly start: EventMark
  readonly requestSeqs: readonly number[]
  answered?: { readonly last: EventMark; readonly seqs: readonly number[] }
  failure?: string
  isInputRequired?: boolean
  /** Why the side that made the request no longer needs an answer. */
  cancelled?: string
  readonly notified: { readonly at: number; readonly seqs: readonly number[] }[]
}

/** A line on stdout or stdin that is not a message, or a message that belongs to no request. */
export interface StdioRemark {
  readonly at: number
  /** The event that completes the line. */
  readonly seq: number
  readonly from: 'client' | 'server'
  /** Method of a notification; missing for a line that is not JSON-RPC. */
  readonly method?: string
  readonly text: string
}

type Side = 'client' | 'server'
type Message = RpcFrame & { readonly line: ReadLine }

/**
 * Parses the pipes of a child process as newline-delimited JSON-RPC. Other lines are stored as
 * remarks: servers that print to stdout are common.
 */
export class StdioSession {
  readonly requests: StdioRequest[] = []
  readonly remarks: StdioRemark[] = []
  server: McpServerInfo | undefined
  /** Requests affected by a piece of output, by the event of the piece. */
  readonly requestsByOutput = new Map<number, StdioRequest[]>()
  readonly #open = new Map<string, StdioRequest>()
  readonly #byProgress = new Map<string, StdioRequest>()

  /** Undefined if the agent wrote anything other than MCP. */
  static read(
    tape: TapeLike,
    process: Pick<StepOp, 'writes' | 'chunks'>,
  ): StdioSession | undefined {
    if (!opensWithMcp(tape, process)) return undefined
    const session = new StdioSession()
    const pieces = [
      ...process.writes.map((mark) => ({ mark, side: 'client' as const })),
      ...process.chunks
        .filter(({ pipe }) => pipe === 1)
        .map((mark) => ({ mark, side: 'server' as const })),
    ].toSorted((left, right) => left.mark.seq - right.mark.seq)
    const readers = { client: new LineReader(), server: new LineReader() }
    for (const { mark, side } of pieces) {
      for (const line of readers[side].push(mark, tape.body(mark.seq))) session.#line(line, side)
    }
    for (const side of ['client', 'server'] as const) {
      const rest = readers[side].rest()
      if (rest !== undefined) session.#line(rest, side)
    }
    return session
  }

  #line(line: ReadLine, side: Side): void {
    if (line.text.trim() === '') return
    const frames = framesIn(parseJson(line.text))
    if (frames.length === 0) this.#remark(line, side)
    for (const frame of frames) {
      const message: Message = { ...frame, line }
      if (message.kind === 'request') this.#addRequest(message, side)
      else if (message.kind === 'answer') this.#answered(message, side)
      else this.#addNotification(message, side)
    }
  }

  #addRequest(message: Message & { readonly kind: 'request' }, askedBy: Side): void {
    const { id, method, line } = message
    const request: StdioRequest = {
      askedBy,
      id,
      method,
      start: askedBy === 'client' ? line.first : line.last,
      requestSeqs: line.seqs,
      notified: [],
    }
    this.requests.push(request)
    this.#open.set(`${askedBy} ${idKey(id)}`, request)
    const token = progressToken(recordOf(message.params)['_meta'])
    if (token !== undefined) this.#byProgress.set(`${askedBy} ${token}`, request)
  }

  #answered(message: Message & { readonly kind: 'answer' }, side: Side): void {
    const { id, result, error, line } = message
    const asker = side === 'server' ? 'client' : 'server'
    const request = id === undefined ? undefined : this.#open.get(`${asker} ${idKey(id)}`)
    if (request === undefined) return this.#remark(line, side)
    this.#open.delete(`${asker} ${idKey(request.id)}`)
    request.answered = { last: line.last, seqs: line.seqs }
    const failure = mcpFailure({ result, error })
    if (failure !== undefined) request.failure = failure
    if (needsInput(result)) request.isInputRequired = true
    if (side !== 'server') return
    this.server = serverInfoIn(result) ?? this.server
    pushTo(this.requestsByOutput, line.last.seq, request)
  }

  #addNotification(message: Message & { readonly kind: 'notification' }, side: Side): void {
    const { method, params, line } = message
    const { requestId, reason } = recordOf(params)
    const asker = side === 'server' ? 'client' : 'server'
    const token = method === 'notifications/progress' ? progressToken(params) : undefined
    const about = token === undefined ? undefined : this.#byProgress.get(`${asker} ${token}`)
    if (about !== undefined) {
      about.notified.push({ at: line.last.at, seqs: line.seqs })
      if (side === 'server') pushTo(this.requestsByOutput, line.last.seq, about)
      return
    }
    if (method === 'notifications/cancelled' && isId(requestId)) {
      const request = this.#open.get(`${side} ${idKey(requestId)}`)
      if (request !== undefined) request.cancelled = optionalText(reason) ?? 'cancelled'
    }
    this.#remark(line, side, method)
  }

  #remark({ last, text }: ReadLine, from: Side, method?: string): void {
    this.remarks.push(defined({ at: last.at, seq: last.seq, from, text, method }))
  }
}

const progressToken = (message: unknown): string | undefined => {
  const { progressToken: token } = recordOf(message)
  return isId(token) ? idKey(token) : undefined
}

/** Judges by the first line that the agent wrote; the rest is read only if that is MCP. */
const opensWithMcp = (tape: TapeLike, { writes }: Pick<StepOp, 'writes'>): boolean => {
  const reader = new LineReader()
  for (const mark of writes) {
    const body = tape.body(mark.seq)
    const [line] = reader.push(mark, body)
    if (line !== undefined) return framesIn(parseJson(line.text)).some(isMcpFrame)
    // Programs may read anything; only JSON is worth parsing.
    if (!/^\s*[[{]/.test(new TextDecoder().decode(body.subarray(0, 8)))) return false
  }
  return false
}
