import { judgeCalls } from '../policy/compiled-policy.js'
import type { Rule } from '../policy/policy.js'
import { clipText } from '@retake/tape'
import { plainText } from '@retake/runner/terminal'
import type { RecordedCall, RunCalls } from './recorded-calls.js'

const LEAF_LIMIT = 200

/** Values inside of arguments, with paths as in the `when` of a rule: `items.*.sku`. */
function leavesOf(value: unknown) {
  const leaves: { readonly path: string; readonly value: unknown }[] = []
  const look = (each: unknown, path: readonly string[]): void => {
    if (leaves.length >= LEAF_LIMIT) return
    if (typeof each !== 'object' || each === null) {
      if (path.length > 0) leaves.push({ path: path.join('.'), value: each })
      return
    }
    for (const [key, member] of Object.entries(each)) {
      // Escapes characters with a meaning in paths.
      const escaped = key.replaceAll(/[.*\\]/g, String.raw`\$&`)
      look(member, [...path, Array.isArray(each) ? '*' : escaped])
    }
  }
  look(value, [])
  return leaves
}

const valuesAt = (value: unknown, path: string): unknown[] =>
  leavesOf(value)
    .filter((leaf) => leaf.path === path)
    .map((leaf) => leaf.value)

/**
 * Rules that block a call, simplest first: the tool, one condition, earlier calls, then two
 * conditions. The caller must check them against passing runs.
 */
function* candidateRules(bad: RecordedCall, known: ReturnType<typeof knownOf>): Generator<Rule> {
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

/** Conditions on one argument, most general first. */
function conditionsFor(
  { path, value }: { readonly path: string; readonly value: unknown },
  passing: readonly RecordedCall[],
): When[] {
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

/** The shortest prefix that no other value shares, cut at the end of a word, folder or host. */
function textConditions(path: string, value: string, others: readonly unknown[]): When[] {
  const texts = others.filter((each) => typeof each === 'string')
  const start = [...value.matchAll(/[^\p{L}\p{N}]+|$/gu)]
    .map(({ index, 0: separator }) => value.slice(0, index + separator.length))
    .find((text) => text.length > 1 && !texts.some((each) => each.startsWith(text)))
  const longest = Math.max(0, ...texts.map(({ length }) => length))
  return [
    ...(start === undefined || start === value ? [] : [{ [path]: { startsWith: start } }]),
    ...(texts.length > 0 && value.length > 4 * longest
      ? [{ [path]: { longerThan: longest } }]
      : []),
  ]
}

export type Suggestion = NonNullable<ReturnType<typeof suggestRule>>

/** The smallest rule that blocks one call, but no call of the passing runs, if found. */
export function suggestRule(run: RunCalls, step: string, passing: readonly RunCalls[]) {
  const at = run.calls.findIndex((call) => !call.isNested && call.step === step)
  const bad = run.calls[at]
  if (bad === undefined) return undefined
  const ofTool = passing.flatMap(({ calls }) => calls.filter(({ tool }) => tool === bad.tool))
  const tooBroad: { rule: Rule; blocked: number }[] = []
  for (const rule of candidateRules(bad, knownOf(run, at, bad, passing, ofTool))) {
    const here = blockedBy(rule, run.calls)
    if (!here.includes(bad)) continue
    const blocked = passing.reduce((sum, each) => sum + blockedBy(rule, each.calls).length, 0)
    if (blocked > 0) {
      tooBroad.push({ rule, blocked })
      continue
    }
    return {
      rule,
      blocks: bad,
      /** Other calls of the same run that it also blocks. */
      alsoBlocks: here.filter((call) => call !== bad),
      passing: {
        runs: passing.length,
        calls: passing.reduce((sum, { calls }) => sum + calls.length, 0),
        ofTool: ofTool.length,
      },
      /** For each condition, the values in passing runs. */
      evidence: Object.keys(rule.when ?? {}).map((path) => ({
        path,
        here: valuesAt(bad.args, path)[0],
        passing: describe(ofTool.flatMap(({ args }) => valuesAt(args, path))),
      })),
      /** Rejected rules that block a passing call, simplest first. */
      tooBroad: tooBroad.slice(0, 5),
    }
  }
  return undefined
}

function blockedBy(rule: Rule, calls: readonly RecordedCall[]): RecordedCall[] {
  const judgements = judgeCalls([{ name: 'suggested', rules: [rule] }], calls)
  return calls.filter((_, index) => judgements[index]?.verdict === 'deny')
}

function knownOf(
  run: RunCalls,
  at: number,
  { tool }: RecordedCall,
  passing: readonly RunCalls[],
  ofTool: readonly RecordedCall[],
) {
  const before = new Set(run.calls.slice(0, at).map((call) => call.tool))
  const usual = new Set(
    passing.flatMap(({ calls }) => {
      const last = calls.findLastIndex((call) => call.tool === tool)
      return last < 0 ? [] : calls.slice(0, last).map((call) => call.tool)
    }),
  )
  const nth = run.calls.slice(0, at + 1).filter((call) => call.tool === tool).length
  const most = Math.max(
    0,
    ...passing.map(({ calls }) => calls.filter((call) => call.tool === tool).length),
  )
  return {
    passing: ofTool,
    /** Tools called before the bad call, but never before this tool in a passing run. */
    onlyBefore: [...before].filter((name) => name !== tool && !usual.has(name)),
    /** Set if the bad call is the nth of its tool, and no passing run has as many. */
    isNth: nth > 1 && nth > most ? nth : undefined,
  }
}

const SHOWN = 4

function describe(values: readonly unknown[]): string {
  if (values.length === 0) return 'nothing'
  if (values.every((value) => typeof value === 'number')) {
    const [least, most] = [Math.min(...values), Math.max(...values)]
    return least === most ? String(least) : `${least} to ${most}`
  }
  const shown = [...new Set(values.map((value) => clipText(plainText(value), 40)))]
  const rest = shown.length - SHOWN
  return shown.slice(0, SHOWN).join(', ') + (rest > 0 ? ` and ${rest} more` : '')
}
