import type { RiskPoint } from '@retake/tape'
import { firstFail } from './first-fail.js'
import type { Cell, Ledger } from './ledger.js'
import { Levels, type Tally } from './levels.js'
import { rateOf } from './rate-of.js'
import type { Search } from './search.js'
import { logBeta } from './stats/log-gamma.js'
import { upTo, type StepSet } from './step-set.js'

/** When it is worth a look whether the risk rose before the cause, and when it did. */
const SUGGESTED = Math.log(1.5)
const RAISED = Math.log(20)
const NOT_RAISED = -Math.log(2)
const MAX_EXTRA = 16
const MAX_BISECTION = 40

/** Where the risk rose before it was made real. */
export interface RaisedRisk {
  readonly step: number
  readonly before: Tally
  readonly after: Tally
}

/** How often it fails with the steps up to each one kept, wherever that was asked. */
export function riskCurve(ledger: Ledger): RiskPoint[] {
  return ledger
    .prefixes()
    .filter(({ forks }) => forks > 0)
    .map((cell) => ({ upTo: cell.coalition.kept.length - 1, rate: rateOf(cell) }))
}

/**
 * A step that made the failure likely before another made it certain. It is no cause, for
 * it mostly passes, but people look for it. Forks are spent only when those that are there
 * suggest one.
 */
export async function findRaisedRisk(
  search: Search,
  cause: StepSet,
): Promise<RaisedRisk | undefined> {
  const last = cause.at(-1)!
  if (search.mode === 'frozen' || last < 1) return undefined
  const before = search.cell([])
  const after = search.cell(upTo(last - 1))
  if (!(await isRaised(search, before, after))) return undefined
  const levels = new Levels(search.ledger.isDeterministic)
  levels.refit(after, before)
  const step = await firstFail(search, {
    candidates: upTo(last - 1),
    fixed: [],
    purpose: 'risk',
    errorRate: 0.1,
    levels,
    maxDraws: MAX_BISECTION,
  })
  return { step, before: { ...before }, after: { ...after } }
}

async function isRaised(search: Search, before: Cell, after: Cell): Promise<boolean> {
  let extra = 0
  for (;;) {
    const odds = logOdds(before, after)
    if (odds >= RAISED) return true
    if (odds < (extra === 0 ? SUGGESTED : NOT_RAISED) || extra >= MAX_EXTRA) return false
    if (search.ledger.isExhausted(before) || search.ledger.isExhausted(after)) return false
    await search.ledger.draw(after.forks > before.forks ? before : after, 'risk')
    extra++
  }
}

/** How much likelier two rates are than one; below nothing where the later one is not the higher. */
function logOdds(before: Tally, after: Tally): number {
  if (after.forks === 0 || before.forks === 0) return -Infinity
  if (after.fails / after.forks <= before.fails / before.forks) return -Infinity
  const both = { fails: before.fails + after.fails, forks: before.forks + after.forks }
  return logMarginal(before) + logMarginal(after) - logMarginal(both)
}

function logMarginal({ fails, forks }: Tally): number {
  return logBeta(fails + 0.5, forks - fails + 0.5) - Math.log(Math.PI)
}
