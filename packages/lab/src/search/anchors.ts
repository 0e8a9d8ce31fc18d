import type { ProbePurpose } from '@retake/tape'
import { type LedgerCell, logOddsOfTwoRates } from './ledger.js'
import type { Search } from './search.js'

/** Failure rates of the two anchors: everything pinned, and nothing pinned. */
export interface Anchors {
  readonly pinned: LedgerCell
  readonly free: LedgerCell
  /** True if the rates differ. Otherwise no step can be blamed. */
  readonly areSeparate: boolean
  /** True if the rates are practically equal. If both flags are false, this is undecided. */
  readonly areSame: boolean
  /** True if every fork with nothing pinned repeated the run, or its error. */
  readonly areRepeated: boolean
}

const MIN_PAIRS = 4
/** Minimum number of pairs before two similar rates count as equal. */
const MIN_PAIRS_SAME = 10
/**
 * If all forks of both anchors fail but differ in detail, this many free forks are needed before
 * the rates count as equal: a step may have turned a likely failure into a certain one.
 */
const MIN_FREE_SAME = 20
/** If every free fork repeats the run step by step, or ends with its error, this many are enough. */
const MIN_FREE_REPEATED = 8
/** After this many pairs, continue only while the rates look different. */
const MIN_FORKS_TO_END = 80
const MAX_PAIRS = 160
/** Log likelihood ratios required to call the rates different, or equal. */
const SEPARATE = Math.log(300)
const SAME = Math.log(20)
/** Weaker requirements once the limit of pairs is reached. */
const SEPARATE_AT_LAST = Math.log(30)
const SAME_AT_LAST = Math.log(1.5)
const PLAIN_GAP = 0.7
const SECOND_LOOK = 40
/** After this many replays without a failure, the run counts as passing. */
const PASSES_AFTER = 16

/**
 * Forks both anchors in turn until their rates clearly differ or clearly do not. Until the pinned
 * anchor fails once, only that anchor is forked: without a failure there is nothing to explain.
 */
export async function takeAnchors(
  search: Search,
  pinned = search.cell(search.everyStep),
  free = search.cell([]),
  purpose: 'anchor' | 'ambient' = 'anchor',
): Promise<Anchors> {
  const { ledger } = search
  for (;;) {
    const state = compare(search, pinned, free)
    if (state || ledger.hasNoVerdict(pinned) || ledger.hasNoVerdict(free)) {
      if (state === 'separate') {
        pinned.verdict = true
        free.verdict = false
      }
      search.levels.isCertaintyExpected =
        state === 'separate' && areUniform(pinned, free) && !ledger.hasChance
      search.refit()
      const areRepeated = state === 'same' && isRepeated(search, pinned, free)
      const [areSeparate, areSame] = [state === 'separate', state === 'same']
      return { pinned, free, areSeparate, areSame, areRepeated }
    }
    await drawNext(search, pinned, free, purpose)
  }
}

/** True if the forks of each cell behaved identically, so chance probably plays no part. */
function areUniform(...cells: readonly LedgerCell[]): boolean {
  return cells.every(({ seen, forks, fails }) => {
    if (forks < MIN_PAIRS || (fails > 0 && fails < forks)) return false
    const [first, ...others] = seen
    return others.every(({ values }) =>
      values.every((value, step) => value === first!.values[step]),
    )
  })
}

/**
 * Checks the anchors again after a contradiction: perhaps their rates never differed. Skips new
 * forks if the rates are far apart.
 */
export async function areStillSeparate(search: Search): Promise<boolean> {
  const { ledger, levels } = search
  if (ledger.isDeterministic) return true
  const pinned = search.cell(search.everyStep)
  const free = search.cell([])
  if (levels.meanHigh - levels.meanLow < PLAIN_GAP) {
    await ledger.draw(pinned, 'anchor', SECOND_LOOK - pinned.forks)
    await ledger.draw(free, 'anchor', SECOND_LOOK - free.forks)
    search.refit()
  }
  return logOddsOfTwoRates(levels, pinned, free) >= SEPARATE_AT_LAST
}

/**
 * True if every fork with nothing pinned did what the run did, or failed with its error, so that
 * the failure does not depend on chance.
 */
function isRepeated(search: Search, pinned: LedgerCell, free: LedgerCell): boolean {
  const { recorded } = search.source
  const isWhole = pinned === search.replayCell && free === search.freeCell
  if (!isWhole || free.forks < MIN_PAIRS) return false
  if (pinned.fails < pinned.forks || free.fails < free.forks) return false
  return free.seen.every(
    ({ values, repeatsError }) =>
      repeatsError === true || recorded.every((value, step) => values[step] === value),
  )
}

async function drawNext(
  search: Search,
  pinned: LedgerCell,
  free: LedgerCell,
  purpose: ProbePurpose,
): Promise<void> {
  const { ledger } = search
  if (pinned.fails === 0) return ledger.draw(pinned, purpose)
  if (ledger.concurrency > 1 && pinned.forks < MIN_PAIRS) {
    await Promise.all([
      ledger.draw(pinned, purpose, MIN_PAIRS - pinned.forks),
      ledger.draw(free, purpose, MIN_PAIRS - free.forks),
    ])
    return
  }
  if (free.forks < pinned.forks) {
    const behind = Math.min(pinned.forks, MIN_PAIRS) - free.forks
    return ledger.draw(free, purpose, Math.max(1, behind))
  }
  if (isRepeated(search, pinned, free)) {
    return ledger.draw(free, purpose, MIN_FREE_REPEATED - free.forks)
  }
  const isPinnedKnown = pinned.fails === pinned.forks && pinned.forks >= MIN_PAIRS_SAME
  if (isPinnedKnown && free.forks < 2 * pinned.forks) return ledger.draw(free, purpose)
  if (ledger.concurrency === 1) return ledger.draw(pinned, purpose)
  // While the rates look equal, so many pairs are needed anyway.
  const missing = looksSame(search, pinned, free) ? MIN_PAIRS_SAME - pinned.forks : 1
  const times = Math.max(1, Math.min(missing, ledger.concurrency))
  await Promise.all([ledger.draw(pinned, purpose, times), ledger.draw(free, purpose, times)])
}

const looksSame = ({ levels }: Search, pinned: LedgerCell, free: LedgerCell): boolean =>
  logOddsOfTwoRates(levels, pinned, free) < 0

function compare(
  search: Search,
  pinned: LedgerCell,
  free: LedgerCell,
): 'separate' | 'same' | 'open' | undefined {
  const { isDeterministic } = search.ledger
  if (pinned.fails === 0) {
    const enough = isDeterministic ? 1 : PASSES_AFTER
    return pinned.forks >= enough ? 'same' : undefined
  }
  const pairs = Math.min(pinned.forks, free.forks)
  if (isDeterministic) return pairs === 0 ? undefined : free.fails === 0 ? 'separate' : 'same'
  if (pairs < MIN_PAIRS) return undefined
  if (isRepeated(search, pinned, free)) {
    return free.forks >= MIN_FREE_REPEATED ? 'same' : undefined
  }
  const odds = logOddsOfTwoRates(search.levels, pinned, free)
  if (odds >= SEPARATE) return 'separate'
  if (pairs >= MIN_PAIRS_SAME && odds <= -SAME) {
    const alwaysFails = pinned.fails === pinned.forks && free.fails === free.forks
    const isChancy = alwaysFails && search.mode === 'free' && !areUniform(pinned, free)
    if (!isChancy || free.forks >= MIN_FREE_SAME) return 'same'
  }
  if (pairs >= MIN_FORKS_TO_END && odds < 0) return odds <= -SAME_AT_LAST ? 'same' : 'open'
  if (pairs < MAX_PAIRS) return undefined
  return odds >= SEPARATE_AT_LAST ? 'separate' : 'open'
}
