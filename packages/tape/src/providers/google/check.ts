import { isRecord, type JsonRecord } from '../json-shape.js'
import { Problems } from '../problems.js'

/** What makes it no answer of Gemini. */
export const checkContent = (answer: unknown): string[] => {
  const problems = new Problems()
  const document = problems.record('the answer', answer)
  if (document === undefined) return problems.list
  const { candidates, promptFeedback, usageMetadata } = document
  // A prompt that was blocked has none.
  const isBlocked = candidates === undefined && isRecord(promptFeedback)
  if (Array.isArray(candidates) && candidates.length === 0) problems.add('candidates', 'is empty')
  for (const [path, candidate] of isBlocked ? [] : problems.records('candidates', candidates))
    checkCandidate(problems, path, candidate)
  if (usageMetadata !== undefined) {
    const counts = problems.record('usageMetadata', usageMetadata)
    problems.counts('usageMetadata', counts)
  }
  return problems.list
}

const checkCandidate = (problems: Problems, path: string, candidate: JsonRecord): void => {
  const { content, finishReason } = candidate
  if (typeof finishReason !== 'string' && typeof finishReason !== 'number')
    problems.add(`${path}.finishReason`, finishReason === undefined ? 'is missing' : 'is no reason')
  // An answer that was stopped may have no content, or content without parts.
  if (content === undefined) return
  const said = problems.record(`${path}.content`, content)
  if (said?.['role'] !== undefined) problems.oneOf(`${path}.content.role`, said['role'], ['model'])
  if (said?.['parts'] === undefined) return
  for (const [at, part] of problems.records(`${path}.content.parts`, said['parts']))
    checkPart(problems, at, part)
}

const checkPart = (problems: Problems, path: string, part: JsonRecord): void => {
  if ('text' in part) problems.text(`${path}.text`, part['text'])
  if (!('functionCall' in part)) return
  const call = problems.record(`${path}.functionCall`, part['functionCall'])
  if (call === undefined) return
  problems.text(`${path}.functionCall.name`, call['name'])
  if (call['args'] !== undefined && !isRecord(call['args']))
    problems.add(`${path}.functionCall.args`, 'is not an object')
}
