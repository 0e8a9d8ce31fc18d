import type { CallEvent, RecordedError } from '../format/events.js'
import { factsOf } from '../guards/check-guard-facts.js'
import { exitOf, readBody, readExit, shortJson, shortText } from './readable-value.js'
import type { StdioSession } from './mcp/stdio-session.js'
import type { StepOp } from './run-index.js'
import { describeError, failureState, StepBase, type StepContext } from './step-base.js'
import type { CallDetail, StepGuard, StepKind, StepState } from './step.js'

export type CallOp = StepOp & { readonly event: CallEvent }

export class CallStep extends StepBase {
  constructor(
    context: StepContext,
    number: number,
    private readonly op: CallOp,
    /** Set if the process is an MCP server. */
    private readonly session?: StdioSession,
  ) {
    super(context, number, op.event)
  }

  /** Name of the tool, or the function that started the process. */
  get name(): string {
    return this.op.event.name
  }

  override get toolName(): string | undefined {
    return this.kind === 'tool' ? this.name : undefined
  }

  get kind(): StepKind {
    return this.op.event.kind === 'process' ? 'process' : 'tool'
  }

  override get parent(): string | undefined {
    return this.context.askedBy(this.seq)
  }

  get title(): string {
    const { name, title } = this.op.event
    const server = this.session?.server === undefined ? '' : ` · ${this.session.server.name}`
    if (this.kind === 'process') return shortText(title ?? name, 100) + server
    return `${name}(${shortJson(title ?? this.#args(), 80)})`
  }

  get latencyMs(): number | undefined {
    return this.op.last === undefined ? undefined : this.op.last.at - this.at
  }

  override get answerSeqs(): readonly number[] {
    const { result, chunks, end } = this.op
    return [result, ...chunks, end].filter((mark) => mark !== undefined).map(({ seq }) => seq)
  }

  get state(): StepState {
    const { failure, result } = this.op
    // A guard, not the tool, is the reason that there is no output.
    const { status, attempts } = (result && factsOf(result)) ?? {}
    const isBlocked = attempts === 0 && (status === 'stopped' || status === 'in doubt')
    if (status === 'denied' || isBlocked) return 'denied'
    if (failure !== undefined) return failureState(failure)
    const exit = this.#exit()
    if (exit !== undefined) return exit === 0 ? 'done' : 'failed'
    if (result !== undefined) return 'done'
    // The requests to a server show what it may have done.
    return this.session === undefined ? this.unansweredState() : 'aborted'
  }

  get error(): string | undefined {
    const { failure } = this.op
    if (failure !== undefined) return describeError(failure)
    const exit = this.#exit()
    if (exit === undefined || exit === 0) return undefined
    return typeof exit === 'number' ? `exit code ${exit}` : `killed by ${exit}`
  }

  override get guard(): StepGuard | undefined {
    const { guard: intent, result } = this.op
    if (intent === undefined) return undefined
    const { rule, policy, verdict } = intent
    const thrown = this.op.failure?.code
    // If approval was requested, its result is the reason.
    const code = verdict === 'ask' && thrown !== undefined ? String(thrown) : intent.code
    return { ...(result && factsOf(result)), ...(rule && { rule }), ...(code && { code }), policy }
  }

  override get failure(): RecordedError | undefined {
    return this.op.failure
  }

  override call(): CallDetail {
    const { failure: error } = this
    // Messages of an MCP server are separate steps; this is its other output.
    const { tape } = this.context
    const remarks = this.session?.remarks.filter(({ from }) => from === 'server') ?? []
    const chunks = this.op.chunks.filter(({ pipe = 1 }) => this.session === undefined || pipe !== 1)
    return {
      name: this.name,
      args: this.#args(),
      result: this.#result(),
      error,
      output: [
        ...remarks.map(({ at, text }) => ({
          at,
          pipe: 1,
          bytes: new TextEncoder().encode(`${text}\n`),
        })),
        ...chunks.map(({ seq, at, pipe = 1 }) => ({ at, pipe, bytes: tape.body(seq) })),
      ].toSorted((left, right) => left.at - right.at),
    }
  }

  #args(): unknown {
    const { seq, as } = this.op.event
    return as === undefined ? undefined : readBody(as, this.context.tape.body(seq))
  }

  #result(): unknown {
    const { result } = this.op
    if (result?.as === undefined) return undefined
    return readBody(result.as, this.context.tape.body(result.seq))
  }

  /** Exit code or signal of a process, from its exit or from a synchronous result. */
  #exit(): number | string | undefined {
    if (this.kind !== 'process') return undefined
    const { exit } = this.op
    if (exit !== undefined) return readExit(exit)
    const result = this.#result() as { status?: unknown; signal?: unknown } | undefined
    return exitOf(result?.status, result?.signal)
  }
}
