import type { NoteEvent, FrameworkScope, RecordedError, SocketEvent } from '../format/events.js'
import type { PriceTable } from '../providers/price.js'
import type { Message } from '../providers/message.js'
import type { AnswerFrame, FrameLimits } from './answer-frames.js'
import type { BodyDecoders } from './http-answer.js'
import type { HttpServers } from './mcp/http-mcp.js'
import type { RequestCache } from './exchange.js'
import type { RunIndex, StepOp } from './run-index.js'
import { type Step, type StepKind, type StepState, summarizeStep } from './step.js'
import type { TapeLike } from '../format/tape-like.js'

export interface StepContext {
  readonly tape: TapeLike
  readonly index: RunIndex
  readonly decoders: BodyDecoders
  readonly requests: RequestCache
  readonly prices: PriceTable
  readonly laneOf: (seq: number) => number
  /** True if the agent continued because of this operation's answer. */
  readonly wasContinued: (seq: number) => boolean
  readonly mcpServers: HttpServers
  /** Label of the model step that requested a tool call. */
  readonly askedBy: (seq: number) => string | undefined
}

/** Defaults for the fields that most steps leave empty. */
export abstract class StepBase implements Step {
  abstract readonly kind: StepKind
  abstract readonly title: string
  abstract readonly state: StepState
  abstract readonly error: string | undefined
  abstract readonly latencyMs: number | undefined
  readonly number: number
  readonly label: string
  readonly seq: number
  readonly at: number
  readonly startedAt: number
  readonly site: string | undefined
  readonly within: readonly FrameworkScope[]
  readonly inferred: boolean = false
  protected readonly context: StepContext

  constructor(
    context: StepContext,
    number: number,
    event: {
      readonly seq: number
      readonly at: number
      readonly site?: string
      readonly within?: readonly FrameworkScope[]
    },
    label = String(number),
  ) {
    this.context = context
    this.number = number
    this.label = label
    this.seq = event.seq
    this.at = event.at
    this.startedAt = context.tape.run.startedAt + event.at
    this.site = event.site
    this.within = event.within ?? []
  }

  get lane(): number {
    return this.context.laneOf(this.seq)
  }

  get parent(): string | undefined {
    return undefined
  }

  get answerSeqs(): readonly number[] {
    return []
  }

  get timeToFirstChunkMs(): number | undefined {
    return undefined
  }

  get provider(): string | undefined {
    return undefined
  }

  get model(): string | undefined {
    return undefined
  }

  get toolCalls(): Step['toolCalls'] {
    return []
  }

  get usage(): Step['usage'] {
    return undefined
  }

  get costUsd(): number | undefined {
    return undefined
  }

  get finishReason(): string | undefined {
    return undefined
  }

  get toolName(): string | undefined {
    return undefined
  }

  get guard(): Step['guard'] {
    return undefined
  }

  get failure(): RecordedError | undefined {
    return undefined
  }

  exchange(): ReturnType<Step['exchange']> {
    return undefined
  }

  messages(): readonly Message[] {
    return []
  }

  answer(): readonly Message[] {
    return []
  }

  answerFrames(_limits?: FrameLimits): readonly AnswerFrame[] {
    return []
  }

  call(): ReturnType<Step['call']> {
    return undefined
  }

  mcp(): ReturnType<Step['mcp']> {
    return undefined
  }

  toJSON(): Record<string, unknown> {
    return summarizeStep(this)
  }

  /** State of an operation whose answer is missing or cut off. */
  protected unansweredState(): StepState {
    const wasKilled = this.context.tape.status === 'truncated'
    return wasKilled && !this.context.wasContinued(this.seq) ? 'in doubt' : 'aborted'
  }
}

/** An error as one line. */
export const describeError = (error: RecordedError): string => {
  const text = error.thrown === undefined ? error.message : JSON.stringify(error.thrown)
  const name = error.name || error.class
  const code =
    error.code === undefined || text.includes(String(error.code)) ? '' : ` (${error.code})`
  const cause = error.cause === undefined ? '' : ` ← ${describeError(error.cause)}`
  return `${name}: ${text}${code}${cause}`
}

/** An agent gives up by aborting, which is not a failure of the other side. */
export const failureState = (error: RecordedError): StepState =>
  error.name === 'AbortError' || error.code === 'ABORT_ERR' ? 'aborted' : 'failed'

export class MarkStep extends StepBase {
  readonly kind: StepKind = 'mark'
  readonly state: StepState = 'done'
  readonly error = undefined
  readonly latencyMs = undefined
  readonly title: string

  constructor(context: StepContext, number: number, note: NoteEvent) {
    super(context, number, note)
    this.title = note.text === undefined ? note.name : `${note.name}: ${note.text}`
  }
}

/** A connection that failed before its first request. */
export class ConnectionStep extends StepBase {
  readonly kind: StepKind = 'http'
  readonly state: StepState = 'failed'
  readonly title: string
  readonly error: string | undefined
  readonly latencyMs: number | undefined
  readonly #failure: RecordedError | undefined

  constructor(context: StepContext, number: number, op: StepOp & { readonly event: SocketEvent }) {
    super(context, number, op.event)
    const { kind, host, port, path } = op.event
    this.#failure = op.failure
    this.error = op.failure === undefined ? undefined : describeError(op.failure)
    this.latencyMs = op.last === undefined ? undefined : op.last.at - this.at
    this.title = `connect ${kind} ${path ?? `${host}:${port}`} (${op.failure?.code ?? 'failed'})`
  }

  override get failure(): RecordedError | undefined {
    return this.#failure
  }
}
