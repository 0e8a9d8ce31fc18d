import type { ArgumentDrift, DriftReason } from '@retake/tape/format'
import { typeOf } from '../type-of.js'
import {
  type ArgumentBaseline,
  type Baseline,
  eachArgument,
  hostIn,
  type Spread,
  textShape,
} from './baseline.js'
import type { PolicyJudgement } from '../../policy/compiled-policy.js'
import { contractErrors } from '../contract-errors.js'

const CALLS_LEAST = 5

/** Weight of each kind of difference. A score is their sum: 5 is worth a look, 10 should not happen. */
export const DRIFT_WEIGHTS = {
  /** Data goes to a new host: the usual aim of an injected instruction. */
  host: 15,
  type: 10,
  /** At least five times the largest: an amount in cents, a runaway loop. */
  numberFar: 10,
  /** At least twice the largest, or negative for the first time. */
  numberBeyond: 5,
  /** Slightly outside. */
  numberOutside: 1,
  /** A sentence became a path, a URL or code. */
  shape: 5,
  /** A new argument. */
  added: 5,
  /** An argument that every call had. Often harmless, since tools have defaults. */
  missing: 3,
  /** A new value where there were few. */
  value: 3,
  /** Texts vary in length, so only much longer ones count. */
  textFar: 5,
  textBeyond: 2,
} as const

const FAR = 5
const BEYOND = 2

/** Difference between the arguments of a call and those of earlier runs. Rarely called tools score 0. */
export function driftScore(baseline: Baseline, tool: string, args: unknown): ArgumentDrift {
  const known = Object.hasOwn(baseline.tools, tool) ? baseline.tools[tool] : undefined
  if (known === undefined || known.calls < CALLS_LEAST)
    return { score: 0, reasons: [], calls: known?.calls ?? 0 }
  const found = eachArgument(args, baseline.ignore)
  const reasons = new Map<string, DriftReason>()
  const add = (path: string, kind: keyof typeof DRIFT_WEIGHTS, what: string): void => {
    const key = `${kind} ${path}`
    if (!reasons.has(key)) reasons.set(key, { path, what, weight: DRIFT_WEIGHTS[kind] })
  }
  for (const { path, value } of found) {
    const before = Object.hasOwn(known.arguments, path) ? known.arguments[path] : undefined
    if (before === undefined) add(path, 'added', `none of ${known.calls} calls had it`)
    else if (before.calls >= CALLS_LEAST)
      compare(before, value, (kind, what) => add(path, kind, what))
    if (before?.hosts === undefined) newHost(undefined, value, (what) => add(path, 'host', what))
  }
  const given = new Set(found.map(({ path }) => path))
  for (const [path, { calls }] of Object.entries(known.arguments))
    if (calls === known.calls && !given.has(path) && !path.includes('[]'))
      add(path, 'missing', `all of ${calls} calls had it`)
  const all = [...reasons.values()].toSorted((a, b) => b.weight - a.weight)
  const score = all.reduce((sum, { weight }) => sum + weight, 0)
  return { score, reasons: all, calls: known.calls }
}

type Add = (kind: keyof typeof DRIFT_WEIGHTS, what: string) => void

function compare(before: ArgumentBaseline, value: unknown, add: Add): void {
  const type = typeOf(value)
  if (!Object.hasOwn(before.types, type))
    return add('type', `it is ${type}, was ${Object.keys(before.types).join(' or ')}`)
  if (before.numbers && (typeof value === 'number' || typeof value === 'bigint'))
    compareNumber(before.numbers, Number(value), add)
  const isOther = (each: string | boolean): boolean => before.values?.includes(each) === false
  if (typeof value === 'boolean' && isOther(value)) add('value', `it was never ${value}`)
  if (typeof value !== 'string') return
  if (before.hosts) newHost(before.hosts, value, (what) => add('host', what))
  if (isOther(value)) add('value', `it is none of the ${before.values?.length} values there were`)
  const shape = textShape(value)
  if (before.shapes && !before.shapes.includes(shape))
    add('shape', `it looks like ${shape}, earlier like ${before.shapes.join(' or ')}`)
  const longest = before.lengths?.max ?? Infinity
  if (value.length > longest * BEYOND)
    add(
      value.length >= longest * FAR ? 'textFar' : 'textBeyond',
      `it has ${value.length} characters, at most ${longest} before`,
    )
}

function compareNumber({ min, max }: Spread, value: number, add: Add): void {
  if (value >= min && value <= max) return
  const largest = Math.max(Math.abs(min), Math.abs(max))
  const size = Math.abs(value)
  const range = min === max ? `was always ${min}` : `was between ${min} and ${max}`
  const times = size > largest ? size / largest : 1
  const isNegative = value < 0 && min >= 0
  const isSmall = size < largest && size * FAR <= Math.min(Math.abs(min), Math.abs(max))
  if (Number.isNaN(value) || times >= FAR) add('numberFar', `it is ${value}, and ${range}`)
  else if (times >= BEYOND || isNegative || isSmall)
    add('numberBeyond', `it is ${value}, and ${range}`)
  else add('numberOutside', `it is ${value}, and ${range}`)
}

function newHost(
  hosts: readonly string[] | undefined,
  value: unknown,
  add: (what: string) => void,
): void {
  const host = typeof value === 'string' ? hostIn(value) : undefined
  if (host !== undefined && hosts?.includes(host) !== true) add(`it leads to the new host ${host}`)
}

export interface OnArgumentDrift {
  /** Scores above this are acted upon. */
  readonly over: number
  /** `warn`: only recorded, like every score. */
  readonly then: 'warn' | 'ask' | 'deny'
}

interface ArgumentDriftOptions {
  readonly baseline?: Baseline | string
  readonly onArgumentDrift?: OnArgumentDrift
}

/** Adds the score of the arguments, which can only make the judgement stricter. */
export function judgeArguments(
  { baseline, onArgumentDrift }: ArgumentDriftOptions,
  call: { readonly tool: string; readonly args: unknown },
  judgement: PolicyJudgement,
): { readonly judgement: PolicyJudgement; readonly drift?: ArgumentDrift } {
  if (baseline === undefined || typeof baseline === 'string') return { judgement }
  const drift = driftScore(baseline, call.tool, call.args)
  if (drift.score === 0) return { judgement }
  const { over = Infinity, then = 'warn' } = onArgumentDrift ?? {}
  const isStrict = judgement.verdict === 'deny' || judgement.verdict === then
  if (drift.score <= over || then === 'warn' || isStrict) return { judgement, drift }
  const denial = contractErrors.ARGUMENT_DRIFT(call.tool, drift, over)
  return { judgement: { verdict: then, rule: denial.rule, denial }, drift }
}
