import type { BlameFindings, BlameRace } from '@retake/tape'
import type { Judgement, Oracle } from '@retake/runner/oracle'
import {
  deliveryName,
  findRaces,
  judgeByOracle,
  judgeByOutcome,
  outcomeOf,
  type RaceJudge,
  type RaceOutcome,
  stepOfDelivery,
  tryOrder,
} from '../chaos/find-races.js'
import { viewRun } from '@retake/runner/runs'
import { overlapsNext } from './ambient.js'
import { undecidedFindings } from './findings.js'
import type { BlameSearch } from './search-run.js'

/** Number of other orders tried. All of them miss a race of two answers once in 4000 times. */
const ORDERS = 12
/** How often the oracle must agree, on the recorded and on the other order. */
const CONFIRMED = 4

/**
 * Looks for an order of the recorded answers in which the run passes. Sends nothing, and every
 * answer is the recorded one, so the order alone makes the difference. Undefined if no steps
 * overlap, or if no tried order passes each time.
 */
export function findRace(search: BlameSearch): Promise<BlameRace | undefined> {
  return tryOrders(search, (recorded) => judgeByOracle(consistent(search.oracle), recorded))
}

/**
 * Names the answers of a race that forks found. In another order the agent sent other requests, so
 * the recorded answers alone show only that something else happens.
 */
export function nameRace(search: BlameSearch): Promise<BlameRace | undefined> {
  return tryOrders(search, async (recorded) => judgeByOutcome(recorded))
}

async function tryOrders(
  search: BlameSearch,
  judgeFor: (recorded: RaceOutcome) => Promise<RaceJudge>,
): Promise<BlameRace | undefined> {
  const { tape, pool, signal } = search
  const recorded = outcomeOf(tape)
  // Orders run today's code.
  if (search.code !== undefined || !overlaps(search)) return undefined
  if (recorded.exitCode === undefined || signal.aborted) return undefined
  const control = await judgeByOutcome(recorded)(await tryOrder(tape, { seed: 0 }))
  if (control.verdict !== 'same') return undefined
  const { races } = await findRaces(tape, {
    seeds: Array.from({ length: ORDERS }, (_, index) => index + 1),
    jobs: pool.size,
    judge: await judgeFor(recorded),
    onTried: () => {},
  })
  const [race] = races
  if (race === undefined) return undefined
  if (race.decides === undefined)
    return { steps: [], text: 'with its answers in another order, this run has another outcome.' }
  const view = viewRun(tape)
  const order = [race.decides.passed, race.decides.chosen]
  const labels = order.flatMap((seq) => stepOfDelivery(tape, view, seq)?.label ?? [])
  const [before, after] = order.map((seq) => deliveryName(tape, view, seq))
  return {
    steps: [...new Set(labels)],
    text: `${before} came before ${after}. In the other order this run does not fail.`,
  }
}

/** True if answers of the run could have come in another order. */
export function overlaps({ tape, steps }: Pick<BlameSearch, 'tape' | 'steps'>): boolean {
  // Other processes have their own order of answers.
  const own = steps.filter(({ process }) => process.tape === tape)
  return own.some((step, index) => overlapsNext(step, own[index + 1]))
}

/** Judges each distinct outcome several times. Inconsistent verdicts become undefined. */
function consistent(oracle: Oracle): Oracle {
  const known = new Map<string, Promise<Judgement>>()
  const judge = async (...args: Parameters<Oracle>): Promise<Judgement> => {
    const first = await oracle(...args)
    for (let times = 1; times < CONFIRMED; times += 1) {
      const { verdict } = await oracle(...args)
      if (verdict !== first.verdict) return { ...first, verdict: 'undefined' }
    }
    return first
  }
  const judgeOnce = (...args: Parameters<Oracle>): Promise<Judgement> => {
    const key = JSON.stringify(args[0])
    const judgement = known.get(key) ?? judge(...args)
    known.set(key, judgement)
    return judgement
  }
  return Object.assign(judgeOnce, { ...oracle })
}

export function raceFindings(
  { steps }: Pick<BlameSearch, 'steps'>,
  race: BlameRace,
  ambient: BlameFindings['ambient'],
): BlameFindings {
  return {
    ...undecidedFindings(steps),
    verdict: 'race',
    ambient,
    race,
    notes: ['`retake chaos` shows the order that passes; every answer in it is the recorded one.'],
  }
}
