import type { NoteEvent } from '../../format/events.js'
import type { TraceEntry } from '../lanes.js'
import type { RunIndex, StepOp } from '../run-index.js'
import type { TapeLike } from '../../format/tape-like.js'
import type { StdioRequestSource } from './mcp-step.js'
import { StdioSession } from './stdio-session.js'

export type StepSource = StepOp | NoteEvent | StdioRequestSource

/** What MCP over stdio adds to the index of a run. */
export interface StdioIndex {
  /** All steps in order, those on pipes among them. */
  readonly sources: readonly StepSource[]
  readonly trace: readonly TraceEntry[]
  /** By the event that started the process. */
  readonly sessions: ReadonlyMap<number, StdioSession>
}

/**
 * Finds MCP servers among the child processes that the agent wrote to. Reads what
 * was written to them, and their output if it is MCP; a run without such children
 * is indexed as before, and nothing is read.
 */
export const indexStdio = (tape: TapeLike, index: RunIndex): StdioIndex => {
  const sessions = new Map<number, StdioSession>()
  const found: StdioRequestSource[] = []
  for (const process of index.steps) {
    if (!('event' in process) || process.writes.length === 0) continue
    const session = StdioSession.read(tape, process)
    if (session === undefined) continue
    sessions.set(process.event.seq, session)
    found.push(...session.requests.map((mcp) => ({ mcp, session, process })))
  }
  if (sessions.size === 0) return { sources: index.steps, trace: index.trace, sessions }
  const sources = [...index.steps, ...found].toSorted((left, right) => seqOf(left) - seqOf(right))
  return { sources, trace: traceWith(index.trace, found, sessions), sessions }
}

export const seqOf = (source: StepSource): number => {
  if ('mcp' in source) return source.mcp.start.seq
  return 'event' in source ? source.event.seq : source.seq
}

/**
 * The order of things with requests in the place of pipes: a request starts where
 * it was written, and a piece of output is news of the request it answers. The
 * server itself runs beside everything and holds no lane open.
 */
const traceWith = (
  trace: readonly TraceEntry[],
  found: readonly StdioRequestSource[],
  sessions: ReadonlyMap<number, StdioSession>,
): TraceEntry[] => {
  const starts = found.map(({ mcp }) => mcp.start.seq).toSorted((left, right) => left - right)
  const result: TraceEntry[] = []
  let next = 0
  const startBefore = (seq: number): void => {
    for (; next < starts.length && (starts[next] as number) < seq; next++)
      result.push({ type: 'start', op: starts[next] as number, role: 'step' })
  }
  for (const entry of trace) {
    const seq = entry.type === 'start' ? entry.op : (entry.seq ?? entry.op)
    startBefore(seq)
    const session = sessions.get(entry.op)
    if (session === undefined) result.push(entry)
    else if (entry.type === 'start') result.push({ ...entry, role: 'instant' })
    else {
      const news = session.newsOf.get(seq) ?? []
      if (news.length === 0) result.push(entry)
      for (const { start } of news) result.push({ type: 'delivery', op: start.seq, seq })
    }
  }
  startBefore(Infinity)
  return result
}
