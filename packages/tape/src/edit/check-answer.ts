import { answerFormat } from './answer-format.js'

/**
 * What makes it no answer that a provider gives, a line each; none for an API
 * that no decoder knows. `api` is the one an `Exchange` names.
 */
export const checkAnswer = (api: string, answer: unknown): string[] =>
  answerFormat(api)?.check(answer) ?? []
