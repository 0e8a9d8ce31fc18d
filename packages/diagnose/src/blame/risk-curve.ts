import type { RiskPoint } from '@retake/tape'
import { firstFail } from './first-fail.js'
import type { Cell, Ledger } from './ledger.js'
import { Levels, type Tally } from './levels.js'
import { logOddsOfTwoRates } from './ledger.js'
import { rateOf } from './ledger.js'
import type { Search } from './search.js'
import { upTo, type StepSet } from './step-set.js'

/** When it is worth a look whether the risk rose before the cause, and when it did. */
const RAISED = Math.log(30)
const NOT_RAISED = -Math.log(2)
const MAX_EXTRA = 60
/** Between rates that are nearer than this there is no room for a third. */
const LEAST_RISE = 0.5
/** A risk that shows in one fork of three would hardly hide from as many. */
const LEAST_LOOK = 8
const MAX_BISECTION = 80
/** Below this it is said that the risk rose, but not where. */
const LOCATED = 0.8

/** Where the risk rose before it was made real. */
export interface RaisedRisk {
  /** Missing where the forks did not suffice to say. */
  readonly step?: number
  readonly before: Tally
  readonly after: Tally
}

/** How often it fails with the steps up to each one kept, wherever that was asked. */
export function riskCurve(ledger: Ledger): RiskPoint[] {
  return ledger
    .prefixes()
    .filter(({ forks }) => forks > 0)
    .map((cell) => ({ upTo: cell.coalition.pinned.length - 1, rate: rateOf(cell) }))
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
  if (search.levels.meanHigh - search.levels.meanLow < LEAST_RISE) return undefined
  const before = search.cell([])
  const after = search.cell(upTo(last - 1))
  if (!(await isRaised(search, before, after))) return undefined
  const levels = new Levels(search.ledger.isDeterministic)
  levels.refit(after, before)
  const { at, probability } = await firstFail(search, {
    candidates: upTo(last - 1),
    fixed: [],
    purpose: 'risk',
    errorRate: 0.1,
    levels,
    maxDraws: MAX_BISECTION,
  })
  return {
    ...(probability >= LOCATED ? { step: at } : {}),
    before: { ...before },
    after: { ...after },
  }
}

async function isRaised(search: Search, before: Cell, after: Cell): Promise<boolean> {
  const { ledger } = search
  if (ledger.isDeterministic) return false
  await ledger.draw(after, 'risk', LEAST_LOOK - after.forks)
  for (let extra = 0; extra < MAX_EXTRA; extra++) {
    const odds = logOddsOfTwoRates(search.levels, after, before)
    if (odds >= RAISED) return true
    if (odds < NOT_RAISED || ledger.isBarren(before) || ledger.isBarren(after)) return false
    await ledger.draw(after.forks > before.forks ? before : after, 'risk')
  }
  return false
}
