import type { CallUsage, GuardFacts, GuardIntent } from '@retake/tape/guards'

/** Spending of an earlier run that this one continues. */
export interface Spent {
  /** Undefined for spending outside of tools. */
  readonly tool: string | undefined
  readonly amount: Amount
  /** Epoch milliseconds; undefined if unknown. */
  readonly at: number | undefined
  /** Set if a call used more than it reserved: its total usage. */
  readonly most?: Amount
}

/** The amount that a recorded call counts for. Without a result, that is its reservation. */
export function countedFor({ reserved }: GuardIntent, facts: GuardFacts | undefined): Amount {
  const base = amountOf(reserved ?? {})
  if (facts === undefined) return base
  const { attempts = 1, served, usage, counted, exitReason } = facts
  if (attempts === 0 || served !== undefined) return NOTHING
  if (counted !== undefined) return amountOf(counted)
  const reported = usedAmount(usage, base)
  const isClear = attempts === 1 && exitReason !== 'timeout' && exitReason !== 'aborted'
  // Old tapes lack `counted`. This is the maximum.
  const most = { tokens: base.tokens * attempts, nanoUsd: base.nanoUsd * attempts }
  return isClear ? reported : larger(reported, most)
}

/** Total usage of a call that exceeded its reservation. */
export const overuseOf = (reserved: CallUsage | undefined, overused: CallUsage): Amount =>
  sum(amountOf(reserved ?? {}), amountOf(overused))

/** Tokens and money as integers, to avoid rounding errors. */
export interface Amount {
  readonly tokens: number
  readonly nanoUsd: number
}

export const NOTHING: Amount = { tokens: 0, nanoUsd: 0 }

/** Larger than the error of a multiplication, smaller than any price. */
const ROUNDING = 1e-3

/** Larger than any budget. Sums stay finite, so that they can be recorded and subtracted. */
const AMOUNT_MAX = 1e300

/** A budget, rounded down. */
export const capInNanoUsd = (usd: number): number => Math.floor(usd * 1e9 + ROUNDING)

export const toUsd = (nanoUsd: number): number => nanoUsd / 1e9

export const usageTokens = ({ inputTokens, outputTokens }: CallUsage): number | undefined =>
  inputTokens === undefined && outputTokens === undefined
    ? undefined
    : Math.min(AMOUNT_MAX, Math.ceil((inputTokens ?? 0) + (outputTokens ?? 0)))

// Spending, rounded up.
export const nanoUsdOf = ({ costUsd }: CallUsage): number | undefined =>
  costUsd === undefined
    ? undefined
    : Math.min(AMOUNT_MAX, Math.max(0, Math.ceil(costUsd * 1e9 - ROUNDING)))

export const amountOf = (usage: CallUsage): Amount => ({
  tokens: usageTokens(usage) ?? 0,
  nanoUsd: nanoUsdOf(usage) ?? 0,
})

/** Usage that was not reported counts as reserved. */
export const usedAmount = (reported: CallUsage | undefined, reserved: Amount): Amount =>
  reported === undefined
    ? reserved
    : {
        tokens: usageTokens(reported) ?? reserved.tokens,
        nanoUsd: nanoUsdOf(reported) ?? reserved.nanoUsd,
      }

export const larger = (a: Amount, b: Amount): Amount =>
  a === b ? a : { tokens: Math.max(a.tokens, b.tokens), nanoUsd: Math.max(a.nanoUsd, b.nanoUsd) }

export const sum = (a: Amount, b: Amount): Amount => ({
  tokens: a.tokens + b.tokens,
  nanoUsd: a.nanoUsd + b.nanoUsd,
})

export const isNothing = ({ tokens, nanoUsd }: Amount): boolean => tokens === 0 && nanoUsd === 0

/** The part of `a` that exceeds `b`. */
export const beyond = (a: Amount, b: Amount): Amount => ({
  tokens: Math.max(0, a.tokens - b.tokens),
  nanoUsd: Math.max(0, a.nanoUsd - b.nanoUsd),
})

/** An amount as recorded on the tape; undefined for nothing. */
export const toUsage = (amount: Amount): CallUsage | undefined =>
  isNothing(amount)
    ? undefined
    : {
        ...(amount.tokens > 0 && { outputTokens: amount.tokens }),
        ...(amount.nanoUsd > 0 && { costUsd: toUsd(amount.nanoUsd) }),
      }

const USAGE_FIELDS = ['inputTokens', 'outputTokens', 'costUsd'] as const

/** The problem in a reported usage, if any. Unknown fields are ignored, unless all are unknown. */
export function usageProblem(usage: unknown): string | undefined {
  if (typeof usage !== 'object' || usage === null) return 'it is not an object'
  const reported = usage as Readonly<Record<string, unknown>>
  const wrong = USAGE_FIELDS.find((name) => {
    const value = reported[name]
    return value !== undefined && !(typeof value === 'number' && value >= 0 && value < Infinity)
  })
  if (wrong !== undefined) return `"${wrong}" is not a number of at least 0`
  const names = Object.keys(reported)
  return names.length === 0 || USAGE_FIELDS.some((name) => names.includes(name))
    ? undefined
    : `it has "${names.join('", "')}" and none of ${USAGE_FIELDS.join(', ')}`
}

/** Combines usages field by field. A field that none of them has is omitted. */
export const combineUsage = (
  usages: readonly (CallUsage | undefined)[],
  combine: (values: readonly number[]) => number,
): CallUsage =>
  Object.fromEntries(
    USAGE_FIELDS.map((name) => [name, usages.flatMap((each) => each?.[name] ?? [])] as const)
      .filter(([, values]) => values.length > 0)
      .map(([name, values]) => [name, combine(values)]),
  )

export const addCallUsage = (a: CallUsage | undefined, b: CallUsage): CallUsage =>
  combineUsage([a, b], (values) => values.reduce((all, each) => all + each))
