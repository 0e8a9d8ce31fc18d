import type { ToolCallPart, ToolResultPart } from '../providers/specification/message.js'
import type { RequestStep } from './request-step.js'
import { shortJson } from './readable-value.js'
import { StepBase, type StepContext } from './step-base.js'
import type { CallDetail, StepKind, StepState } from './step.js'

/**
 * A tool call that was not wrapped: the model requested it in one exchange, and its result is in a
 * later one. Its times are those of the two exchanges.
 */
export class InferredToolStep extends StepBase {
  readonly kind: StepKind = 'tool'
  override readonly inferred = true
  readonly title: string
  #result: ToolResultPart | undefined

  constructor(
    context: StepContext,
    label: string,
    private readonly toolCall: ToolCallPart,
    private readonly caller: RequestStep,
    private readonly reporter: RequestStep,
  ) {
    const at = caller.at + (caller.latencyMs ?? 0)
    const seq = caller.answerSeqs.at(-1) ?? caller.seq
    super(context, caller.number, { seq, at, within: caller.within }, label)
    this.title = `${toolCall.name}(${shortJson(toolCall.args)})`
  }

  override get lane(): number {
    return this.caller.lane
  }

  override get parent(): string {
    return this.caller.label
  }

  override get toolName(): string {
    return this.toolCall.name
  }

  override get answerSeqs(): readonly number[] {
    return [this.reporter.seq]
  }

  get latencyMs(): number {
    return this.reporter.at - this.at
  }

  get state(): StepState {
    return this.#readResult()?.isError === true ? 'failed' : 'done'
  }

  get error(): string | undefined {
    return this.state === 'failed' ? shortJson(this.#readResult()?.content, 200) : undefined
  }

  override call(): CallDetail {
    const { name, args } = this.toolCall
    return { name, args, result: this.#readResult()?.content, error: undefined, output: [] }
  }

  #readResult(): ToolResultPart | undefined {
    this.#result ??= this.reporter.reader
      .requestMessages()
      .flatMap(({ parts }) => parts)
      .find((part) => part.type === 'tool_result' && part.id === this.toolCall.id) as
      | ToolResultPart
      | undefined
    return this.#result
  }
}
