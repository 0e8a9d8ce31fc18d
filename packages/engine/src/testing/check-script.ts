import type { ScriptedAnswer } from './scripted-answer.js'
import { errors } from '../errors.js'

/** Complete by its type: a property that is added to an answer must be added here. */
const KNOWN: Readonly<Record<keyof ScriptedAnswer, true>> = {
  text: true,
  reasoning: true,
  toolCalls: true,
  usage: true,
  finish: true,
  error: true,
  delayMs: true,
  chunks: true,
  breakAfter: true,
  when: true,
}

/** Scripts are often JSON: a slip in one would be a model that says nothing. */
export function checkScript(answers: readonly ScriptedAnswer[]): void {
  if (!Array.isArray(answers)) throw errors.SCRIPT_INVALID('`answers` is not a list.')
  for (const [index, answer] of (answers as unknown[]).entries()) {
    const name = `Answer ${index + 1}`
    if (typeof answer !== 'object' || answer === null)
      throw errors.SCRIPT_INVALID(`${name} is ${JSON.stringify(answer)}.`)
    const unknown = Object.keys(answer).find((key) => !Object.hasOwn(KNOWN, key))
    if (unknown !== undefined) throw errors.SCRIPT_INVALID(`${name} has "${unknown}".`)
  }
}
