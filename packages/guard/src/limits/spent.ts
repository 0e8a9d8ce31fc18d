import type { CallUsage, GuardFacts, GuardIntent } from '@retake/tape/format'
import { amountOf, larger, NOTHING, usedAmount, type Amount } from './amount.js'

/** Something that a run spent before this one went on from it. */
export interface Spent {
  /** The tool whose call it was; undefined of what was spent beside the tools. */
  readonly tool: string | undefined
  readonly amount: Amount
  /** Epoch milliseconds by which it was spent; undefined when nobody knows. */
  readonly at: number | undefined
  /** Usage of a call that had reserved less. */
  readonly most?: Amount
}

/** The amount that a recorded call counts for in limits; without a result, all that was reserved. */
export function countedFor({ reserved }: GuardIntent, facts: GuardFacts | undefined): Amount {
  const base = amountOf(reserved ?? {})
  if (facts === undefined) return base
  const { attempts = 1, served, usage, counted, exitReason } = facts
  if (attempts === 0 || served !== undefined) return NOTHING
  if (counted !== undefined) return amountOf(counted)
  const said = usedAmount(usage, base)
  const isClear = attempts === 1 && exitReason !== 'timeout' && exitReason !== 'aborted'
  // Tapes that do not say what such calls counted for: it was no more than this.
  return isClear ? said : larger(said, times(base, attempts))
}

/** Usage of a call beyond its reservation; of several attempts no less than the largest. */
export function overuseOf(reserved: CallUsage | undefined, overused: CallUsage): Amount {
  const [base, more] = [amountOf(reserved ?? {}), amountOf(overused)]
  return { tokens: base.tokens + more.tokens, nanoUsd: base.nanoUsd + more.nanoUsd }
}

const times = ({ tokens, nanoUsd }: Amount, count: number): Amount => ({
  tokens: tokens * count,
  nanoUsd: nanoUsd * count,
})
