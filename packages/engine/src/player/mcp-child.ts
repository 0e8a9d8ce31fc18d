import { readStdioExchange, readStdioParams, type StdioRequest, StdioSession } from '@retake/tape'
import type { Tape } from '@retake/tape/format'
import type { OpenRequest, RecordedServer } from '../kernel/settle-doubts.js'
import type { HandshakeMessage } from '../kernel/session.js'

/** Methods that change a server's state for its client. */
export const STATEFUL_METHODS: ReadonlySet<string> = new Set([
  'initialize',
  'logging/setLevel',
  'resources/subscribe',
])
export const INITIALIZED = 'notifications/initialized'

/** Methods whose answers an agent acts on. All others belong to the protocol and are always served. */
export const isSearchedMethod = (method: string): boolean =>
  method === 'tools/call' || method === 'resources/read' || method === 'prompts/get'

/** The messages on the pipes of a process; undefined if it is not an MCP server. */
export function readSession(tape: Tape, op: number): StdioSession | undefined {
  const writes: { seq: number; at: number }[] = []
  const chunks: { seq: number; at: number; pipe: number }[] = []
  for (const event of tape.events(op)) {
    if (!('op' in event) || event.op !== op) continue
    const mark = { seq: event.seq, at: event.at }
    if (event.type === 'write' && event.as === undefined) writes.push(mark)
    if (event.type === 'deliver' && event.part === 'chunk' && event.pipe === 1)
      chunks.push({ ...mark, pipe: 1 })
  }
  return StdioSession.read(tape, { writes, chunks })
}

/** The MCP server behind a process; undefined if the process is not one, or was not alive at that event. */
export function mcpChildAt(tape: Tape, op: number, at: number): RecordedServer | undefined {
  let hasEnd = false
  for (const event of tape.events(op)) {
    if (!('op' in event) || event.op !== op || event.type !== 'deliver') continue
    if (event.part === 'exit' && event.seq < at) return undefined
    if (event.part === 'exit') hasEnd = true
  }
  const session = readSession(tape, op)
  if (session === undefined) return undefined
  return {
    handshake: handshakeOf(tape, session, at),
    open: openAt(tape, session, at),
    hasEnd,
  }
}

function handshakeOf(tape: Tape, session: StdioSession, at: number): HandshakeMessage[] {
  const notified = session.remarks
    .filter(({ from, method, seq }) => from === 'client' && method === INITIALIZED && seq < at)
    .map(({ seq, text }) => ({ seq, message: { line: text } }))
  const requested = session.requests
    .filter((request) => STATEFUL_METHODS.has(request.method) && wasAnswered(request, at))
    .map((request) => ({
      seq: request.start.seq,
      message: { line: lineOf(tape, request), id: request.id },
    }))
  return [...notified, ...requested].toSorted((a, b) => a.seq - b.seq).map(({ message }) => message)
}

function openAt(tape: Tape, session: StdioSession, at: number): OpenRequest[] {
  return session.requests
    .filter((request) => request.askedBy === 'client' && request.start.seq < at)
    .filter((request) => !wasAnswered(request, at) && request.cancelled === undefined)
    .map((request) => {
      const { answered, id } = request
      const open = { seq: request.start.seq, id, line: lineOf(tape, request) }
      if (answered === undefined) return { ...open, answer: undefined }
      const { result, error } = readStdioExchange(tape, request, session)
      const outcome = error === undefined ? { result } : { error }
      const line = JSON.stringify({ jsonrpc: '2.0', id, ...outcome })
      return { ...open, answer: { seqs: answered.seqs, line } }
    })
}

const wasAnswered = ({ answered }: StdioRequest, at: number): boolean =>
  answered !== undefined && answered.last.seq < at

const lineOf = (tape: Tape, request: StdioRequest): string => {
  const { id, method } = request
  const params = readStdioParams(tape, request)
  return JSON.stringify({ jsonrpc: '2.0', id, method, ...(params !== undefined && { params }) })
}

/** An error in answer to a request that must not be repeated. */
export const refusedLine = ({ id }: OpenRequest, message: string): Uint8Array =>
  Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32000, message } })}\n`)
