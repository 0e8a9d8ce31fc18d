import type { Rule } from '@retake/engine/guard'
import type { RecordedCall } from './recorded-calls.js'
import { leavesOf, valuesAt, type Leaf } from './leaves.js'

/** What is known of the calls a rule must not block. */
export interface Known {
  /** Calls of passing runs, of the same tool. */
  readonly passing: readonly RecordedCall[]
  /** Tools that were called before the bad call in its run, and never before this tool in a passing one. */
  readonly onlyBefore: readonly string[]
  /** The bad call is the nth of its tool in its run, and no passing run has so many. */
  readonly isNth: number | undefined
}

/**
 * Rules that block a call, the ones that say the most with the least first:
 * the tool, one condition, what came before, then two conditions. Whether a rule
 * really spares the passing runs is for the caller to try.
 */
export function* candidateRules(bad: RecordedCall, known: Known): Generator<Rule> {
  const deny = bad.tool
  yield { deny }
  const conditions = leavesOf(bad.args).flatMap((leaf) => conditionsFor(leaf, known.passing))
  for (const when of conditions) yield { deny, when }
  for (const tool of known.onlyBefore) yield { deny, after: { tool } }
  if (known.isNth !== undefined) yield { deny, moreThan: known.isNth - 1 }
  for (const [index, first] of conditions.entries()) {
    for (const second of conditions.slice(index + 1)) {
      if (Object.keys(first)[0] !== Object.keys(second)[0])
        yield { deny, when: { ...first, ...second } }
    }
  }
}

type When = NonNullable<Rule['when']>

/** Conditions on one argument, those that hold for more values than this one first. */
function conditionsFor({ path, value }: Leaf, passing: readonly RecordedCall[]): When[] {
  const others = passing.flatMap(({ args }) => valuesAt(args, path))
  if (others.length === 0 && passing.length > 0) return [{ [path]: { exists: true } }]
  if (typeof value === 'number') return [...beyond(path, value, others), { [path]: value }]
  if (typeof value === 'string') return [...textConditions(path, value, others), { [path]: value }]
  return value === null || typeof value === 'boolean' ? [{ [path]: value }] : []
}

function beyond(path: string, value: number, others: readonly unknown[]): When[] {
  const numbers = others.filter((each) => typeof each === 'number')
  if (numbers.length === 0) return []
  const [least, most] = [Math.min(...numbers), Math.max(...numbers)]
  if (value > most) return [{ [path]: { over: most } }]
  return value < least ? [{ [path]: { under: least } }] : []
}

/** The shortest beginning that no other value shares, cut where a word, a folder or a host ends. */
function textConditions(path: string, value: string, others: readonly unknown[]): When[] {
  const texts = others.filter((each) => typeof each === 'string')
  const start = beginnings(value).find((text) => !texts.some((each) => each.startsWith(text)))
  const longest = Math.max(0, ...texts.map(({ length }) => length))
  return [
    ...(start === undefined || start === value ? [] : [{ [path]: { startsWith: start } }]),
    ...(texts.length > 0 && value.length > 4 * longest
      ? [{ [path]: { longerThan: longest } }]
      : []),
  ]
}

const beginnings = (text: string): string[] =>
  [...text.matchAll(/[^\p{L}\p{N}]+|$/gu)]
    .map(({ index, 0: separator }) => text.slice(0, index + separator.length))
    .filter((start) => start.length > 1)
