import type { ToolCallPart, ToolResultPart } from '../providers/message.js'
import type { RequestStep } from './request-step.js'
import { shortJson } from './readable-value.js'
import { StepBase, type StepContext } from './step-base.js'
import type { CallDetail, StepKind, StepState } from './step.js'

/**
 * A tool call that was not wrapped: the model asked for it in one exchange and
 * its result stands in a later one. Its times are those of the two exchanges.
 */
export class InferredToolStep extends StepBase {
  readonly kind: StepKind = 'tool'
  override readonly inferred = true
  readonly title: string
  readonly #asked: RequestStep
  readonly #told: RequestStep
  readonly #call: ToolCallPart
  #result: ToolResultPart | undefined

  constructor(
    context: StepContext,
    {
      asked,
      told,
      call,
      label,
    }: { asked: RequestStep; told: RequestStep; call: ToolCallPart; label: string },
  ) {
    const at = asked.at + (asked.latencyMs ?? 0)
    const seq = asked.answerSeqs.at(-1) ?? asked.seq
    super(context, asked.number, { seq, at, within: asked.within }, label)
    this.#asked = asked
    this.#told = told
    this.#call = call
    this.title = `${call.name}(${shortJson(call.args)})`
  }

  override get lane(): number {
    return this.#asked.lane
  }

  override get parent(): string {
    return this.#asked.label
  }

  override get toolName(): string {
    return this.#call.name
  }

  override get answerSeqs(): readonly number[] {
    return [this.#told.seq]
  }

  get latencyMs(): number {
    return this.#told.at - this.at
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
    this.#result ??= this.#told.reader
      .requestMessages()
      .flatMap(({ parts }) => parts)
      .find((part) => part.type === 'tool_result' && part.id === this.#call.id) as
      | ToolResultPart
      | undefined
    return this.#result
  }
}
