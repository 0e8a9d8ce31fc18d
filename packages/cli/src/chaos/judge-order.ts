import type { Judgement, Oracle, RunOutcome } from '../oracle/oracle.js'
import { compareOutcomes } from './outcome.js'
import type { Outcome, OutcomeDifference } from './outcome.js'
import type { TriedOrder } from './try-order.js'

export interface JudgedOrder extends TriedOrder {
  readonly verdict: 'same' | 'changed' | 'unclear'
  readonly differences: readonly OutcomeDifference[]
  readonly outputOrderDiffers: boolean
}

/** Judges what an order came to. */
export type Judge = (tried: TriedOrder) => Promise<JudgedOrder>

/**
 * Against the recorded outcome: exit code, error, the lines of stdout, what was
 * asked for. An order that needs an answer which the recorded run gave up on
 * cannot be judged: nobody knows what would have come.
 */
export const judgeByOutcome =
  (recorded: Outcome): Judge =>
  async (tried) => {
    const { divergence, unasked, cutShort, outcome } = tried
    if (divergence !== undefined) {
      const asks = { what: 'asks', recorded: '', now: divergence.summary }
      return { ...tried, verdict: 'changed', differences: [asks], outputOrderDiffers: false }
    }
    const { differences, outputOrderDiffers } = compareOutcomes(recorded, outcome)
    const all = [...differences, ...unasked.map(notAsked)]
    if (all.length === 0) return { ...tried, verdict: 'same', differences: all, outputOrderDiffers }
    const verdict = cutShort.length > 0 ? 'unclear' : 'changed'
    return { ...tried, verdict, differences: all, outputOrderDiffers }
  }

const notAsked = ({ what }: { readonly what: string }): OutcomeDifference => ({
  what: 'does not ask',
  recorded: what,
  now: '',
})

/** By what the user calls good: an order counts when it is judged otherwise than the recorded run. */
export async function judgeByOracle(oracle: Oracle, recorded: Outcome): Promise<Judge> {
  const ask = (outcome: Outcome): Promise<Judgement> =>
    oracle(asOracleSees(outcome), new AbortController().signal)
  const before = await ask(recorded)
  return async (tried) => {
    const { outputOrderDiffers } = compareOutcomes(recorded, tried.outcome)
    if (tried.divergence !== undefined || tried.cutShort.length > 0)
      return { ...tried, verdict: 'unclear', differences: [], outputOrderDiffers: false }
    const now = await ask(tried.outcome)
    if (now.verdict === 'undefined' || before.verdict === 'undefined')
      return { ...tried, verdict: 'unclear', differences: [], outputOrderDiffers }
    if (now.verdict === before.verdict)
      return { ...tried, verdict: 'same', differences: [], outputOrderDiffers }
    const flipped = { what: 'oracle', recorded: before.reason, now: now.reason }
    return { ...tried, verdict: 'changed', differences: [flipped], outputOrderDiffers }
  }
}

const asOracleSees = ({ stdout, exitCode, signal, error }: Outcome): RunOutcome => ({
  stdout: stdout.join(''),
  ended: exitCode !== undefined,
  ...(exitCode !== undefined && { exitCode }),
  ...(signal !== undefined && { signal }),
  ...(error !== undefined && { error }),
})
