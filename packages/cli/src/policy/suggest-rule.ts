import type { Rule } from '@retake/engine/guard'
import { judgeCalls } from '@retake/engine/guard'
import { clipText } from '@retake/tape'
import { plainText } from '../plain-value.js'
import { candidateRules, type Known } from './candidate-rules.js'
import { valuesAt } from './leaves.js'
import type { RecordedCall, RecordedRun } from './recorded-calls.js'

/** A rule, and what speaks for it. */
export interface Suggestion {
  readonly rule: Rule
  readonly blocks: RecordedCall
  /** Other calls of the same run that it blocks, too. */
  readonly alsoBlocks: readonly RecordedCall[]
  readonly passing: { readonly runs: number; readonly calls: number; readonly ofTool: number }
  /** For each condition, what the passing runs have there. */
  readonly evidence: readonly {
    readonly path: string
    readonly here: unknown
    readonly passing: string
  }[]
  /** Rules that were tried and block a passing call, simplest first. */
  readonly tooBroad: readonly { readonly rule: Rule; readonly blocked: number }[]
}

/** The smallest rule that blocks one call of a run and no call of the passing runs; undefined when none was found. */
export function suggestRule(
  run: RecordedRun,
  step: string,
  passing: readonly RecordedRun[],
): Suggestion | undefined {
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
      alsoBlocks: here.filter((call) => call !== bad),
      passing: {
        runs: passing.length,
        calls: passing.reduce((sum, { calls }) => sum + calls.length, 0),
        ofTool: ofTool.length,
      },
      evidence: Object.keys(rule.when ?? {}).map((path) => ({
        path,
        here: valuesAt(bad.args, path)[0],
        passing: describe(ofTool.flatMap(({ args }) => valuesAt(args, path))),
      })),
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
  run: RecordedRun,
  at: number,
  { tool }: RecordedCall,
  passing: readonly RecordedRun[],
  ofTool: readonly RecordedCall[],
): Known {
  const before = new Set(run.calls.slice(0, at).map((call) => call.tool))
  const usual = new Set(passing.flatMap(({ calls }) => toolsBefore(calls, tool)))
  const nth = run.calls.slice(0, at + 1).filter((call) => call.tool === tool).length
  const most = Math.max(
    0,
    ...passing.map(({ calls }) => calls.filter((call) => call.tool === tool).length),
  )
  return {
    passing: ofTool,
    onlyBefore: [...before].filter((name) => name !== tool && !usual.has(name)),
    isNth: nth > 1 && nth > most ? nth : undefined,
  }
}

/** Tools that were called before the last call of `tool`. */
function toolsBefore(calls: readonly RecordedCall[], tool: string): string[] {
  const last = calls.findLastIndex((call) => call.tool === tool)
  return last < 0 ? [] : calls.slice(0, last).map((call) => call.tool)
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
