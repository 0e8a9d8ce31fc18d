import type { RunHead } from '../../model/run-head.js'
import { KINDS, STATES } from '../../model/step-rows.js'
import { cost, count, plural } from '../design/figures.js'
import type { RowStore } from './row-store.js'

const [MODEL, FAILED] = [KINDS.indexOf('model'), STATES.indexOf('failed')]

/** How a run ended, besides its status; undefined when there is nothing more to say. */
export function endOfRun({ status, exit }: RunHead): string | undefined {
  if (exit?.error !== undefined) return `${exit.error.name}: ${exit.error.message.split('\n')[0]}`
  if (exit?.signal !== undefined) return `by ${exit.signal}`
  if (exit === undefined && status === 'killed') return 'the recording was cut off'
  return exit?.code ? `exit code ${exit.code}` : undefined
}

/** A branch, and of what. */
export function originOfRun({ branch, parent }: RunHead): string | undefined {
  if (branch === undefined || parent === undefined) return undefined
  const words = {
    fork: 'forked from',
    rerun: 'rerun of',
    resume: 'resumed from',
    chaos: 'chaos of',
  }
  return words[branch.kind]
}

/**
 * Tokens of all model calls. A stream may end without counts: then they are not
 * known, and not 0; a sum that does not cover all calls says so. Undefined when
 * no model was asked.
 */
export function tokensOfRun({ columns, totals }: RowStore): string | undefined {
  if (totals === undefined || totals.modelCalls === 0) return undefined
  let [answered, counted] = [0, 0]
  for (let place = 0; place < columns.length; place++) {
    if (columns.kind[place] !== MODEL || columns.state[place] === FAILED) continue
    answered += 1
    if (!Number.isNaN(columns.tokensIn[place])) counted += 1
  }
  if (answered > 0 && counted === 0) return 'tokens unknown'
  const { input, cachedInput, cacheWrite, output } = totals.usage
  const sum = `${count(input + cachedInput + cacheWrite)} tokens in, ${count(output)} out`
  return counted < answered ? `${sum} in ${counted} of ${answered} calls` : sum
}

/** What the run cost; where a price is not known, what of it is. Undefined when no model was asked. */
export function costOfRun({ totals }: RowStore): string | undefined {
  if (totals === undefined || totals.modelCalls === 0) return undefined
  if (totals.costUsd !== undefined) return cost(totals.costUsd)
  const known = totals.modelCalls - totals.unknownCost.length
  return known === 0 || totals.knownCostUsd === 0
    ? 'cost unknown'
    : `cost unknown: ${cost(totals.knownCostUsd)} and ${plural(totals.unknownCost.length, 'call')} without a price`
}
