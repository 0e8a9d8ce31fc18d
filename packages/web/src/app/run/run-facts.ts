import { KINDS, STATES, tokensText } from '@retake/tape/present'
import type { RunHead } from '../../model/run-head.js'
import type { RowStore } from './row-store.js'

const [MODEL, FAILED] = [KINDS.indexOf('model'), STATES.indexOf('failed')]

const BRANCH_WORDS = {
  fork: 'forked from',
  rerun: 'rerun of',
  resume: 'resumed from',
  chaos: 'chaos of',
} as const

/** How a branch was made; undefined for other runs. */
export const originOfRun = ({ branch, parent }: RunHead): string | undefined =>
  branch === undefined || parent === undefined ? undefined : BRANCH_WORDS[branch.kind]

/** Tokens of all model calls; undefined if there are none. */
export function tokensOfRun({ columns, totals }: RowStore): string | undefined {
  if (totals === undefined || totals.modelCalls === 0) return undefined
  let [answered, counted] = [0, 0]
  for (let index = 0; index < columns.length; index++) {
    if (columns.kind[index] !== MODEL || columns.state[index] === FAILED) continue
    answered += 1
    if (!Number.isNaN(columns.tokensIn[index])) counted += 1
  }
  return tokensText(totals, { answered, counted })
}
