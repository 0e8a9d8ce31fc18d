import {
  errorName,
  type FrameworkScope,
  type NoteEvent,
  type RecordedError,
  type SocketEvent,
} from '../format/events.js'
import type { PriceTable } from '../providers/specification/price.js'
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

/** Fields that most steps leave empty. */
const EMPTY = {
  waitingTitle: undefined,
  parent: undefined,
  answerSeqs: [],
  timeToFirstChunkMs: undefined,
  provider: undefined,
  model: undefined,
  toolCalls: [],
  usage: undefined,
  costUsd: undefined,
  finishReason: undefined,
  toolName: undefined,
  guard: undefined,
  failure: undefined,
  exchange: () => undefined,
  messages: () => [],
  answer: () => [],
  answerFrames: () => [],
  call: () => undefined,
  mcp: () => undefined,
} satisfies Partial<Step>

/** Has the empty fields on its prototype, so that steps can override them with getters. */
const EmptyStep = function () {} as unknown as new () => Step
Object.assign(EmptyStep.prototype, EMPTY)

export abstract class StepBase extends EmptyStep {
  abstract override readonly kind: StepKind
  abstract override readonly title: string
  abstract override readonly state: StepState
  abstract override readonly error: string | undefined
  abstract override readonly latencyMs: number | undefined
  override readonly seq: number
  override readonly at: number
  override readonly startedAt: number
  override readonly site: string | undefined
  override readonly within: readonly FrameworkScope[]
  override readonly inferred: boolean = false

  constructor(
    protected readonly context: StepContext,
    override readonly number: number,
    event: {
      readonly seq: number
      readonly at: number
      readonly site?: string
      readonly within?: readonly FrameworkScope[]
    },
    override readonly label = String(number),
  ) {
    super()
    this.seq = event.seq
    this.at = event.at
    this.startedAt = context.tape.run.startedAt + event.at
    this.site = event.site
    this.within = event.within ?? []
  }

  override get lane(): number {
    return this.context.laneOf(this.seq)
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
  const code =
    error.code === undefined || text.includes(String(error.code)) ? '' : ` (${error.code})`
  const cause = error.cause === undefined ? '' : ` ← ${describeError(error.cause)}`
  return `${errorName(error)}: ${text}${code}${cause}`
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
    // Other fields of the record are unchecked.
    const { seq, at, site } = note
    super(context, number, site === undefined ? { seq, at } : { seq, at, site })
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
    const { seq, at, kind, host, port, path } = op.event
    super(context, number, { seq, at })
    this.#failure = op.failure
    this.error = op.failure === undefined ? undefined : describeError(op.failure)
    this.latencyMs = op.last === undefined ? undefined : op.last.at - this.at
    this.title = `connect ${kind} ${path ?? `${host}:${port}`} (${op.failure?.code ?? 'failed'})`
  }

  override get failure(): RecordedError | undefined {
    return this.#failure
  }
}
