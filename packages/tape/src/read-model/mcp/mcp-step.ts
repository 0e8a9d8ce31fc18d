import type { NoteEvent, RecordedError } from '../../format/events.js'
import type { RunIndex, StepOp } from '../run-index.js'
import { readExit } from '../readable-value.js'
import { StepBase, type StepContext } from '../step-base.js'
import type { CallDetail, StepKind, StepState } from '../step.js'
import { isToolCall, mcpCall, type McpExchange, mcpTitle, toolOf } from './json-rpc.js'
import {
  readStdioExchange,
  readStdioParams,
  type StdioRequest,
  StdioSession,
} from './stdio-session.js'
import type { TraceEntry } from '../lanes.js'
import type { TapeLike } from '../../format/tape-like.js'

export type StepSource = StepOp | NoteEvent | StdioRequestSource

/** What MCP over stdio adds to the index of a run. */
export interface StdioIndex {
  /** All steps in order, including those on pipes. */
  readonly sources: readonly StepSource[]
  readonly trace: readonly TraceEntry[]
  /** By the event that started the process. */
  readonly sessions: ReadonlyMap<number, StdioSession>
}

/**
 * Finds MCP servers among the child processes that the agent wrote to. Reads the bytes written to
 * them, and their output if it is MCP. Reads nothing in a run without such children.
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

const seqOf = (source: StepSource): number => {
  if ('mcp' in source) return source.mcp.start.seq
  return 'event' in source ? source.event.seq : source.seq
}

/**
 * The trace with requests instead of pipes: a request starts where it was written, and a piece of
 * output belongs to the request that it answers. The server itself runs in the background, so that
 * it does not leave a lane open.
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
      const news = session.requestsByOutput.get(seq) ?? []
      if (news.length === 0) result.push(entry)
      for (const { start } of news) result.push({ type: 'delivery', op: start.seq, seq })
    }
  }
  startBefore(Infinity)
  return result
}

export interface StdioRequestSource {
  readonly mcp: StdioRequest
  readonly session: StdioSession
  readonly process: StepOp
}

/**
 * A request to an MCP server over stdio, or from the server to the agent. `tools/call` is an
 * ordinary tool; everything else has the kind `mcp`.
 */
export class McpStep extends StepBase {
  readonly kind: StepKind
  #title: string | undefined

  constructor(
    context: StepContext,
    number: number,
    private readonly source: StdioRequestSource,
    /** Label of the step that started the process. */
    private readonly processLabel: string,
  ) {
    const { start } = source.mcp
    const event = context.tape.event(start.seq)
    super(context, number, event.type === 'write' ? event : { ...start })
    this.kind = isToolCall(source.mcp) ? 'tool' : 'mcp'
  }

  override get provider(): string {
    return 'mcp'
  }

  /** The model step that requested the tool; otherwise the process of the server. */
  override get parent(): string {
    return this.context.askedBy(this.seq) ?? this.processLabel
  }

  override get toolName(): string | undefined {
    if (this.kind !== 'tool') return undefined
    return toolOf(readStdioParams(this.context.tape, this.source.mcp)).name
  }

  get title(): string {
    if (this.#title !== undefined) return this.#title
    const { session, mcp } = this.source
    const { isInputRequired = false } = mcp
    const params = readStdioParams(this.context.tape, mcp)
    const server = session.server?.name
    return (this.#title = mcpTitle({ ...mcp, params, server }, { isInputRequired }))
  }

  override get answerSeqs(): readonly number[] {
    return this.source.mcp.answered?.seqs ?? []
  }

  get latencyMs(): number | undefined {
    const { answered } = this.source.mcp
    return answered === undefined ? undefined : answered.last.at - this.at
  }

  get state(): StepState {
    const { answered, failure, cancelled } = this.source.mcp
    if (answered !== undefined) return failure === undefined ? 'done' : 'failed'
    if (cancelled !== undefined) return 'aborted'
    return this.#exit() === undefined ? this.unansweredState() : 'failed'
  }

  get error(): string | undefined {
    const { answered, failure, cancelled } = this.source.mcp
    if (answered !== undefined) return failure
    if (cancelled !== undefined) return cancelled
    const exit = this.#exit()
    if (exit === undefined) return undefined
    return typeof exit === 'number'
      ? `the server exited with code ${exit} before it answered`
      : `the server was killed by ${exit} before it answered`
  }

  override get failure(): RecordedError | undefined {
    return this.state === 'failed' ? this.call().error : undefined
  }

  override call(): CallDetail {
    return mcpCall(this.#read())
  }

  override mcp(): McpExchange {
    return this.#read()
  }

  #read(): McpExchange {
    const { mcp, session } = this.source
    return readStdioExchange(this.context.tape, mcp, session)
  }

  #exit(): number | string | undefined {
    const { exit } = this.source.process
    return exit === undefined ? undefined : readExit(exit)
  }
}
