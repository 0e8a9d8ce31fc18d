import type { FreeAnswer } from '@retake/engine'
import { getPath, isRecord, type Step, type Tape, attempt } from '@retake/tape'
import { answerOf, changedAnswer } from './build-answer.js'

export interface FieldChange {
  readonly label: string
  readonly path: string
  readonly from: unknown
  readonly to: unknown
  readonly answer: FreeAnswer
}

/** Fields of one answer that are tried; larger answers are data rather than a decision. */
const FIELDS_MAX = 12
/** Values from other answers of the same tool that are tried for one field. */
const SEEN_MAX = 2

/**
 * Answers of a step that differ from the recorded one in one field: values that other answers
 * of the same tool have there come first, then a value of the same type. They are made up, so
 * a run that passes with one shows that the failure depends on the field, not that it was wrong.
 */
export function fieldChanges(
  tape: Tape,
  step: Step,
  /** Answers of the same tool to other calls. */
  others: readonly FreeAnswer[] = [],
): FieldChange[] {
  const recorded = attempt(() => answerOf(tape, step))
  if (recorded === undefined || !('payload' in recorded)) return []
  const { payload } = recorded
  // In an MCP message, only the result is data of the tool.
  const isMessage = step.mcp() !== undefined && isRecord(payload)
  return leavesOf(isMessage ? { result: payload['result'] } : payload)
    .slice(0, FIELDS_MAX)
    .flatMap(([path, from]) => {
      const seen = others.flatMap((other) =>
        'payload' in other ? attempt(() => [getPath(other.payload, path)], []) : [],
      )
      const values = [...seen.filter((value) => value !== from).slice(0, SEEN_MAX), ...unlike(from)]
      return [...new Set(values)].flatMap((to) => {
        const answer = attempt(() => changedAnswer(tape, step, { path, value: to }))
        return answer === undefined ? [] : [{ label: step.label, path, from, to, answer }]
      })
    })
}

/** Other values of the same type. */
function unlike(value: unknown): unknown[] {
  if (typeof value === 'boolean') return [!value]
  if (typeof value === 'number') return value === 0 ? [1, 100] : [0, 10 * value]
  if (typeof value === 'string') return value === '' ? [] : ['']
  return []
}

/** Leaves of a JSON value with their paths, in order. */
function leavesOf(value: unknown, at = ''): [path: string, value: unknown][] {
  const entries: [string, unknown][] = Array.isArray(value)
    ? value.map((each, index) => [`${at}[${index}]`, each])
    : isRecord(value)
      ? Object.entries(value).map(([key, each]) => [at === '' ? key : `${at}.${key}`, each])
      : []
  if (entries.length === 0) return at === '' ? [] : [[at, value]]
  return entries.flatMap(([inner, each]) => leavesOf(each, inner))
}

/** Shows a field as the user would set it: `days 100 instead of 10`. */
export const fieldText = ({ path, from, to }: FieldChange): string =>
  `${path} ${JSON.stringify(to)} instead of ${JSON.stringify(from)}`
