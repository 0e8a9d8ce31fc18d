import { clipText } from '@retake/tape/format'
import type { ModelRequest } from './model-request.js'
import type { ScriptedAnswer } from './scripted-answer.js'
import { errors } from '../errors.js'

export class Script {
  readonly #left: ScriptedAnswer[]
  readonly #count: number

  constructor(answers: readonly ScriptedAnswer[]) {
    this.#left = [...answers]
    this.#count = answers.length
  }

  get unused(): readonly ScriptedAnswer[] {
    return this.#left
  }

  /** The first unused answer that matches. Throws if there is none. */
  next(request: ModelRequest): ScriptedAnswer {
    const at = this.#left.findIndex((answer) => fits(answer, request))
    const [answer] = at === -1 ? [] : this.#left.splice(at, 1)
    if (answer !== undefined) return answer
    throw this.#left.length === 0
      ? errors.SCRIPT_OVER(this.#count)
      : errors.SCRIPT_NO_ANSWER_FITS(this.#left.length, shortened(lastText(request)))
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

const shortened = (text: string): string => clipText(text, 80)
