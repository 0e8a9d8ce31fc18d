import { createHash } from 'node:crypto'
import { messageText, type Step } from '@retake/tape'
import { plainValue } from '../terminal/terminal.js'

/**
 * What a step came to, as a short text that is equal when it came to the same: the
 * tools a model asks for with their arguments, the words it says, a class of errors,
 * the result of a tool. Ids, key order, case and punctuation make no difference.
 */
export function stepValue(step: Step): string {
  return createHash('sha256').update(meaningOf(step)).digest('hex').slice(0, 16)
}

function meaningOf(step: Step): string {
  const { failure } = step
  if (failure !== undefined) return `error ${failure.class} ${failure.code ?? ''}`
  const status = step.exchange()?.response?.status ?? 200
  if (status >= 400) return `status ${status}`
  if (step.kind === 'model') return saidBy(step)
  const call = step.call() ?? step.mcp()
  if (call !== undefined) return `result ${canonical(resultOf(call))}`
  const response = step.exchange()?.response
  if (response === undefined) return step.state
  return `answer ${response.json === undefined ? (response.text ?? '') : canonical(response.json)}`
}

function saidBy(step: Step): string {
  const calls = step.toolCalls.map(({ name, args }) => ({ name, args }))
  if (calls.length > 0) return `calls ${canonical(calls)}`
  return `says ${words(step.answer().map(messageText).join(' '))}`
}

/** Numbers keep their points: 3.5 is not 35. */
const words = (text: string): string =>
  (text.toLowerCase().match(/\d+(?:[.,]\d+)*|[\p{L}\p{N}]+/gu) ?? []).join(' ')

interface Called {
  readonly result?: unknown
  readonly output?: readonly { readonly pipe: number; readonly bytes: Uint8Array }[]
}

function resultOf({ result, output = [] }: Called): unknown {
  if (output.length === 0) return result
  const printed = output.map(({ pipe, bytes }) => [pipe, Buffer.from(bytes).toString()])
  return [result, printed]
}

/** JSON with the keys of objects in order; what JSON does not have, as it is told elsewhere. */
export const canonical = (value: unknown): string => JSON.stringify(sorted(plainValue(value))) ?? ''

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  return Object.fromEntries(entries.map(([key, each]) => [key, sorted(each)]))
}

/** Numbers in rising order as ranges: `0-4,7`. */
export function stepRanges(numbers: readonly number[]): string {
  const ranges: [number, number][] = []
  for (const number of numbers) {
    const last = ranges.at(-1)
    if (last !== undefined && number === last[1] + 1) last[1] = number
    else ranges.push([number, number])
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(',')
}

/** The numbers that `stepRanges` has written. */
export function rangesToNumbers(text: string): number[] {
  if (text === '') return []
  return text.split(',').flatMap((range) => {
    const [from = 0, to = from] = range.split('-').map(Number)
    return Array.from({ length: to - from + 1 }, (_, index) => from + index)
  })
}
