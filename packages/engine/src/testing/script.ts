import { clipText } from '@retake/tape/format'
import type { ModelRequest } from './model-request.js'
import type { ScriptedAnswer } from './scripted-answer.js'
import { errors } from '../errors.js'

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
