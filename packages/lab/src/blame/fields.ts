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

/** Maximum number of fields tried per answer. Larger answers are data rather than a decision. */
const FIELDS_MAX = 12
/** Maximum number of values tried from other answers of the same tool. */
const SEEN_MAX = 2

/**
 * Variations of the recorded answer that differ in one field: first values from other answers of
 * the same tool, then another value, also of another type: `4.9` instead of `"4.90"`. They are made up, so a pass shows that the
 * failure depends on the field, not that the field was wrong.
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
  // Only the result of an MCP message is data of the tool.
  const isMessage = step.mcp() !== undefined && isRecord(payload)
  return leavesOf(isMessage ? { result: payload['result'] } : payload)
    .slice(0, FIELDS_MAX)
    .flatMap(([path, from]) => {
      const seen = others.flatMap((other) =>
        'payload' in other ? attempt(() => [getPath(other.payload, path)], []) : [],
      )
      const values = [
        ...seen.filter((value) => value !== from).slice(0, SEEN_MAX),
        ...otherValues(from),
      ]
      return [...new Set(values)].flatMap((to) => {
        const answer = attempt(() => changedAnswer(tape, step, { path, value: to }))
        return answer === undefined ? [] : [{ label: step.label, path, from, to, answer }]
      })
    })
}

/** The same value with another type, if it is a number or boolean, and other values of its type. */
export function otherValues(value: unknown): unknown[] {
  if (typeof value === 'boolean') return [!value]
  if (typeof value === 'number') return value === 0 ? [1, 100, '0'] : [0, 10 * value, String(value)]
  if (typeof value !== 'string' || value === '') return []
  if (value === 'true' || value === 'false') return [value === 'true', '']
  return NUMBER.test(value) ? [Number(value), ''] : ['']
}

/** `4.90`, but not `007` or an id of many digits. */
const NUMBER = /^-?(?:0|[1-9]\d{0,8})(?:\.\d+)?$/

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

/** For example `days 100 instead of 10`. */
export const fieldText = ({ path, from, to }: FieldChange): string =>
  `${path} ${JSON.stringify(to)} instead of ${JSON.stringify(from)}`
