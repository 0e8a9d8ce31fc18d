import type { RecordedError } from '../../format/events.js'
import type { StepOp } from '../run-index.js'
import { readExit } from '../readable-value.js'
import { StepBase, type StepContext } from '../step-base.js'
import type { CallDetail, StepKind, StepState } from '../step.js'
import { isToolCall, mcpCall, mcpTitle, toolOf, type McpExchange } from './mcp-exchange.js'
import { readStdioExchange, readStdioParams } from './stdio-exchange.js'
import type { StdioRequest, StdioSession } from './stdio-session.js'

/** A request on the pipes of a child process, as the index finds it. */
export interface StdioRequestSource {
  readonly mcp: StdioRequest
  readonly session: StdioSession
  /** The process behind the pipes. */
  readonly process: StepOp
}

/**
 * A request to an MCP server over stdio, or one of the server's to the agent.
 * `tools/call` is a tool like any other; the rest is of kind `mcp`.
 */
export class McpStep extends StepBase {
  readonly kind: StepKind
  readonly #source: StdioRequestSource
  readonly #processLabel: string
  #title: string | undefined

  constructor(
    context: StepContext,
    number: number,
    source: StdioRequestSource,
    /** Label of the step that started the process. */
    processLabel: string,
  ) {
    const { start } = source.mcp
    const event = context.tape.event(start.seq)
    super(context, number, event.type === 'write' ? event : { ...start })
    this.#source = source
    this.#processLabel = processLabel
    this.kind = isToolCall(source.mcp) ? 'tool' : 'mcp'
  }

  override get provider(): string {
    return 'mcp'
  }

  /** The model step that asked for the tool, else the process of the server. */
  override get parent(): string {
    return this.context.askedBy(this.seq) ?? this.#processLabel
  }

  override get toolName(): string | undefined {
    if (this.kind !== 'tool') return undefined
    return toolOf(readStdioParams(this.context.tape, this.#source.mcp)).name
  }

  get title(): string {
    if (this.#title !== undefined) return this.#title
    const { session, mcp } = this.#source
    const { isInputRequired = false } = mcp
    const params = readStdioParams(this.context.tape, mcp)
    const server = session.server?.name
    return (this.#title = mcpTitle({ ...mcp, params, server }, { isInputRequired }))
  }

  override get answerSeqs(): readonly number[] {
    return this.#source.mcp.answered?.seqs ?? []
  }

  get latencyMs(): number | undefined {
    const { answered } = this.#source.mcp
    return answered === undefined ? undefined : answered.last.at - this.at
  }

  get state(): StepState {
    const { answered, failure, cancelled } = this.#source.mcp
    if (answered !== undefined) return failure === undefined ? 'done' : 'failed'
    if (cancelled !== undefined) return 'aborted'
    return this.#exit() === undefined ? this.unansweredState() : 'failed'
  }

  get error(): string | undefined {
    const { answered, failure, cancelled } = this.#source.mcp
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
    const { mcp, session } = this.#source
    return readStdioExchange(this.context.tape, mcp, session)
  }

  #exit(): number | string | undefined {
    const { exit } = this.#source.process
    const [code, signal] = exit === undefined ? [] : readExit(exit)
    if (typeof code === 'number') return code
    return typeof signal === 'string' ? signal : undefined
  }
}
