import type { CallUsage } from '@retake/tape/format'
import type { Denial } from '../guard-error.js'
import type { GuardedTool } from '../guarded-tool.js'
import { NOTHING, nanoUsdOf, usageTokens, wrongUsage, type Amount } from './amount.js'
import { limitErrors } from './limit-errors.js'

/** Scopes of the limits that require a reservation. */
export interface RequestedAmount {
  readonly tokens: string | undefined
  readonly costUsd: string | undefined
}

/**
 * The most a call may use: as its tool says, else as the guard's limits say. A tool
 * that declares effects without `spend` uses nothing. Of any other tool nothing
 * is known, and under a limit it is not started: it could pass it.
 */
export function reservedAmount(
  tool: GuardedTool,
  args: unknown,
  otherwise: CallUsage | undefined,
  requested: RequestedAmount,
): Amount | Denial {
  const { reserve, effects } = tool.options
  const { name } = tool
  let said: CallUsage | undefined
  try {
    said = typeof reserve === 'function' ? reserve(args) : reserve
    const wrong = said === undefined ? undefined : wrongUsage(said)
    if (wrong !== undefined) return limitErrors.reserveInvalid(name, wrong)
  } catch (error) {
    return limitErrors.reserveInvalid(name, `\`reserve\` threw ${String(error)}`)
  }
  const spendsNothing = effects !== undefined && !effects.includes('spend')
  if (said === undefined && spendsNothing) return NOTHING
  const most = (of: (usage: CallUsage) => number | undefined): number | undefined =>
    (said && of(said)) ?? (spendsNothing ? 0 : otherwise && of(otherwise))
  const tokens = most(usageTokens)
  const nanoUsd = most(nanoUsdOf)
  if (tokens === undefined && requested.tokens !== undefined)
    return limitErrors.notReserved(name, requested.tokens, 'tokens')
  if (nanoUsd === undefined && requested.costUsd !== undefined)
    return limitErrors.notReserved(name, requested.costUsd, 'costUsd')
  return { tokens: tokens ?? 0, nanoUsd: nanoUsd ?? 0 }
}
