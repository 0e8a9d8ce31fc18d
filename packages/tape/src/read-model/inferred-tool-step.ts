import type { ToolCallPart, ToolResultPart } from '../providers/message.js'
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
  readonly #caller: RequestStep
  readonly #reporter: RequestStep
  readonly #call: ToolCallPart
  #result: ToolResultPart | undefined

  constructor(
    context: StepContext,
    {
      caller,
      reporter,
      call,
      label,
    }: { caller: RequestStep; reporter: RequestStep; call: ToolCallPart; label: string },
  ) {
    const at = caller.at + (caller.latencyMs ?? 0)
    const seq = caller.answerSeqs.at(-1) ?? caller.seq
    super(context, caller.number, { seq, at, within: caller.within }, label)
    this.#caller = caller
    this.#reporter = reporter
    this.#call = call
    this.title = `${call.name}(${shortJson(call.args)})`
  }

  override get lane(): number {
    return this.#caller.lane
  }

  override get parent(): string {
    return this.#caller.label
  }

  override get toolName(): string {
    return this.#call.name
  }

  override get answerSeqs(): readonly number[] {
    return [this.#reporter.seq]
  }

  get latencyMs(): number {
    return this.#reporter.at - this.at
  }

  get state(): StepState {
    return this.#readResult()?.isError === true ? 'failed' : 'done'
  }

  get error(): string | undefined {
    return this.state === 'failed' ? shortJson(this.#readResult()?.content, 200) : undefined
  }

  override call(): CallDetail {
    const { name, args } = this.#call
    return { name, args, result: this.#readResult()?.content, error: undefined, output: [] }
  }

  #readResult(): ToolResultPart | undefined {
    this.#result ??= this.#reporter.reader
      .requestMessages()
      .flatMap(({ parts }) => parts)
      .find((part) => part.type === 'tool_result' && part.id === this.#call.id) as
      | ToolResultPart
      | undefined
    return this.#result
  }
}
