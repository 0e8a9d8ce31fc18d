import type { RecordedError, RequestEvent } from '../format/events.js'
import { costUsd, findOverride } from '../providers/cost.js'
import { messageText, toolCallsIn, type Message } from '../providers/specification/message.js'
import type { ModelApi } from '../providers/specification/provider.js'
import { unknownHttp } from '../providers/find-provider.js'
import type { AnswerFrame, FrameLimits } from './answer-frames.js'
import { type Exchange, ExchangeReader } from './exchange.js'
import { HttpMcp } from './mcp/http-mcp.js'
import type { McpExchange } from './mcp/json-rpc.js'
import type { StepOp } from './run-index.js'
import { shortText, withoutMarkdown } from './readable-value.js'
import { describeError, failureState, StepBase, type StepContext } from './step-base.js'
import type { CallDetail, Step, StepKind, StepState } from './step.js'

export type RequestOp = StepOp & { readonly event: RequestEvent }

/**
 * A request: a model step if a provider's decoder recognises it, an MCP request, or otherwise an
 * HTTP step.
 */
export class RequestStep extends StepBase {
  readonly reader: ExchangeReader
  #title: string | undefined
  #cost: { readonly usd: number | undefined } | undefined
  #state: StepState | undefined
  #mcp: { readonly value: HttpMcp | undefined } | undefined

  constructor(
    context: StepContext,
    number: number,
    private readonly op: RequestOp,
  ) {
    super(context, number, op.event)
    this.reader = new ExchangeReader(context, op)
  }

  get kind(): StepKind {
    return this.#api === undefined ? (this.#httpMcp?.kind ?? 'http') : 'model'
  }

  override get provider(): string | undefined {
    return this.#api?.provider ?? (this.#httpMcp === undefined ? undefined : 'mcp')
  }

  override get model(): string | undefined {
    return this.#api === undefined ? undefined : this.reader.model
  }

  /** For a tool of an MCP server, the model step that requested it. */
  override get parent(): string | undefined {
    return this.kind === 'tool' ? this.context.askedBy(this.seq) : undefined
  }

  override get toolName(): string | undefined {
    return this.#httpMcp?.toolName
  }

  override get toolCalls(): Step['toolCalls'] {
    return this.#api === undefined ? [] : toolCallsIn(this.reader.decoded.messages)
  }

  override get usage(): Step['usage'] {
    return this.#api === undefined ? undefined : this.reader.decoded.usage
  }

  override get costUsd(): number | undefined {
    this.#cost ??= { usd: this.#readCost() }
    return this.#cost.usd
  }

  #readCost(): number | undefined {
    const { model, usage, provider } = this
    const { prices } = this.context
    const known = this.#api === undefined ? undefined : this.reader.decoded.costUsd
    const isOverridden = findOverride(model ?? '', prices, provider) !== undefined
    if (known !== undefined && !isOverridden) return known
    // A stream that broke off has reported only some of the billed tokens.
    if (model === undefined || usage === undefined || this.finishReason === undefined)
      return undefined
    return costUsd(model, usage, prices, provider)
  }

  override get finishReason(): string | undefined {
    return this.#api === undefined ? undefined : this.reader.decoded.finishReason
  }

  override get answerSeqs(): readonly number[] {
    const { response, chunks, end } = this.op
    return [response, ...chunks, end].filter((mark) => mark !== undefined).map(({ seq }) => seq)
  }

  get latencyMs(): number | undefined {
    return this.op.last === undefined ? undefined : this.op.last.at - this.at
  }

  override get timeToFirstChunkMs(): number | undefined {
    const first = this.op.chunks[0]
    return first === undefined ? undefined : first.at - this.at
  }

  get state(): StepState {
    return (this.#state ??= this.#readState())
  }

  get error(): string | undefined {
    const { failure } = this.op
    const { head } = this.reader
    const known = this.#httpMcp?.failure
    if (known !== undefined) return known
    if (this.#httpMcp !== undefined && this.state === 'done') return undefined
    if (failure !== undefined && head?.complete !== true) return describeError(failure)
    const status =
      head !== undefined && head.status >= 400
        ? `${head.status} ${head.statusText}`.trim()
        : undefined
    const hasFacts = status !== undefined || this.#api !== undefined
    const error = hasFacts ? this.reader.decoded.error : undefined
    return error === undefined || status === undefined
      ? (error ?? status)
      : `${status}: ${shortText(error, 200)}`
  }

  override get failure(): RecordedError | undefined {
    const { failure } = this.op
    if (this.#httpMcp !== undefined && this.state === 'done') return undefined
    return failure !== undefined && this.reader.head?.complete !== true ? failure : undefined
  }

  get title(): string {
    this.#title ??=
      this.#api === undefined ? (this.#httpMcp?.title ?? this.#httpTitle()) : this.#modelTitle()
    return this.#title
  }

  override get waitingTitle(): string | undefined {
    const { method, url } = this.op.event
    if (this.#httpMcp !== undefined) return undefined
    return this.#api === undefined
      ? `${method} ${shortText(url, 100)} (answering…)`
      : `${this.model ?? this.provider ?? 'model'} → answering…`
  }

  override exchange(): Exchange {
    return this.reader.read()
  }

  override messages(): readonly Message[] {
    return this.#api === undefined ? [] : this.reader.requestMessages()
  }

  override answer(): readonly Message[] {
    return this.#api === undefined ? [] : this.reader.decoded.messages
  }

  override answerFrames(limits?: FrameLimits): readonly AnswerFrame[] {
    return this.#api === undefined ? [] : this.reader.answerFrames(limits)
  }

  override call(): CallDetail | undefined {
    return this.#httpMcp?.call()
  }

  override mcp(): McpExchange | undefined {
    return this.#httpMcp?.exchange()
  }

  get #httpMcp(): HttpMcp | undefined {
    if (this.#mcp === undefined) {
      const { reader, context, op } = this
      const isMcp = this.#api === undefined
      this.#mcp = {
        value: isMcp ? HttpMcp.of(op.event, { reader, servers: context.mcpServers }) : undefined,
      }
    }
    return this.#mcp.value
  }

  get #api(): ModelApi | undefined {
    const { provider } = this.reader
    return provider === unknownHttp ? undefined : provider
  }

  #readState(): StepState {
    const { failure } = this.op
    const { head } = this.reader
    const known = this.#httpMcp?.stateBy(head)
    if (known !== undefined) return known
    if (failure !== undefined && head?.complete !== true) return failureState(failure)
    if (head === undefined) return this.unansweredState()
    if (head.status >= 400) return 'failed'
    if (this.#api !== undefined && this.reader.decoded.error !== undefined) return 'failed'
    // Many clients stop reading after the last event of a stream, before the stream ends.
    if (head.complete || this.finishReason !== undefined) return 'done'
    return this.unansweredState()
  }

  #httpTitle(): string {
    const { method, url } = this.op.event
    const { head } = this.reader
    return `${method} ${shortText(url, 100)} ${head === undefined ? `(${this.error ?? 'no answer'})` : head.status}`
  }

  #modelTitle(): string {
    const model = this.model ?? this.provider ?? 'model'
    if (this.state === 'in doubt') return `${model} → no answer`
    if (this.state === 'failed') return `${model} → ${shortText(this.error ?? 'failed', 100)}`
    const names = this.toolCalls.map(({ name }) => name)
    const calls =
      names.length === 0
        ? []
        : [`${names.length} tool call${names.length === 1 ? '' : 's'}: ${names.join(', ')}`]
    const words = this.reader.decoded.messages.map(messageText).join(' ')
    const text = shortText(withoutMarkdown(words), 60)
    const said = calls.length === 0 && text !== '' ? [`“${text}”`] : calls
    const note = this.state === 'aborted' ? ['(aborted)'] : []
    return `${model} → ${[...said, ...note].join(' ') || (this.finishReason ?? 'nothing')}`
  }
}
