import type { Finish, GivenReply, ReplyToolCall, ScriptedError, ScriptedUsage } from '@retake/tape'
import { clipText } from '@retake/tape/format'
import type { ModelRequest } from './model-request.js'
import { errors } from '../errors.js'

export type { Finish, ScriptedError, ScriptedUsage }
export type ScriptedToolCall = ReplyToolCall

/** Requests that an answer is reserved for. All conditions must match. */
export interface AnswerCondition {
  /** Text in the last message. */
  readonly contains?: string
  /** Text in the system prompt or instructions. */
  readonly system?: string
  readonly model?: string
}

/** The answer of a model, independent of any wire format. */
export interface ScriptedAnswer extends GivenReply {
  readonly error?: ScriptedError | undefined
  /** Delay before the answer begins. */
  readonly delayMs?: number | undefined
  /** Breaks the connection after this many pieces of a streamed answer. */
  readonly breakAfter?: number | undefined
  /**
   * Reserves the answer for matching requests, for concurrent agents. Each request gets the first
   * unused answer that matches.
   */
  readonly when?: AnswerCondition | undefined
}

export class Script {
  readonly unused: ScriptedAnswer[]
  readonly #count: number

  constructor(answers: readonly ScriptedAnswer[]) {
    this.unused = [...answers]
    this.#count = answers.length
  }

  /** The first unused answer that matches. Throws if there is none. */
  next(request: ModelRequest): ScriptedAnswer {
    const at = this.unused.findIndex((answer) => fits(answer, request))
    const [answer] = at === -1 ? [] : this.unused.splice(at, 1)
    if (answer !== undefined) return answer
    throw this.unused.length === 0
      ? errors.SCRIPT_OVER(this.#count)
      : errors.SCRIPT_NO_ANSWER_FITS(this.unused.length, clipText(lastText(request), 80))
  }
}

const fits = ({ when = {} }: ScriptedAnswer, request: ModelRequest): boolean =>
  (when.contains === undefined || lastText(request).includes(when.contains)) &&
  (when.system === undefined || systemText(request).includes(when.system)) &&
  (when.model === undefined || request.model === when.model)

const lastText = ({ messages }: ModelRequest): string => messages.at(-1)?.text ?? ''

const systemText = ({ messages }: ModelRequest): string =>
  messages
    .filter(({ role }) => role === 'system' || role === 'developer')
    .map(({ text }) => text)
    .join('\n')
