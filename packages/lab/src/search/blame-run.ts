import { type BlameFindings, mapConcurrent } from '@retake/tape'
import { intervalText, isDependence, listText, rateText } from '@retake/tape/present'
import { takeAnchors, type Anchors } from './anchors.js'
import type { ForkSource } from './fork-source.js'
import { findAmbient, findEarlierCause, dropFollowers } from './find-ambient.js'
import { dropUnproven, learnCauses } from './learn-causes.js'
import { runRepair } from './run-repair.js'
import { probeOf, rateOf, SearchStopped } from './ledger.js'
import { makeFindings, type Conclusion } from './make-findings.js'
import { type BlameOptions, Search } from './search.js'

/**
 * Default limit of forks. Most failures need fewer than half of it, but a lower limit would often
 * end searches of noisy failures before a cause is proven.
 */
export const DEFAULT_FORKS = 500

/** Below this failure rate, back-ups are not searched for: they would probably be chance. */
const MIN_BACK_UP_RATE = 0.34

/**
 * Finds the steps that together made a run fail, with as few forks as possible. Names a cause only
 * if tests prove it; otherwise the verdict says why not. Rejects if the source fails; forks that
 * ran are stored by the source.
 */
export async function blameRun(
  source: ForkSource,
  options: BlameOptions = {},
): Promise<BlameFindings> {
  const { onProgress, errorRate = 0.01, seed = 1, maxCauses = 4, echoes = true } = options
  const search = new Search(source, { ...options, errorRate, seed, maxCauses, echoes })
  if (onProgress) {
    search.ledger.onFork = (cell) => {
      const forks = search.ledger.counts.asked
      onProgress({ forks, remaining: search.remainingForks(), probe: probeOf(cell, search.labels) })
    }
  }
  const findings = makeFindings(search, await conclude(search))
  const [first] = findings.causes
  const isMadeUp = first !== undefined && isDependence(first, findings)
  return isMadeUp && findings.verdict === 'attributed'
    ? { ...findings, verdict: 'dependence' }
    : findings
}

async function conclude(search: Search): Promise<Conclusion> {
  if (search.stepCount === 0) {
    return { verdict: 'no attributable step', why: 'The run has no step that could be blamed.' }
  }
  try {
    return await runSearch(search)
  } catch (error) {
    if (!(error instanceof SearchStopped)) throw error
    dropUnproven(search)
    return { verdict: 'stopped', why: error.why }
  }
}

async function runSearch(search: Search): Promise<Conclusion> {
  search.begin('anchors')
  const anchors = await takeAnchors(search, search.replayCell, search.freeCell)
  if (!anchors.areSeparate) {
    const isOftenFailing = anchors.pinned.fails > anchors.pinned.forks * MIN_BACK_UP_RATE
    // Steps that repeat themselves would also do so one at a time.
    if (anchors.areRepeated || !isOftenFailing || !(await separatesFrozen(search)))
      return unattributed(search, anchors)
  }
  search.begin('ambient')
  const next = await findAmbient(search)
  if (next === 'steps') {
    search.begin('cause')
    if (search.everyInput.length > 0 && search.ambient.length === 0) search.earliest = 'unchecked'
    await learnCauses(search)
  }
  if (search.earliest === 'wrong') {
    const then = await findEarlierCause(search)
    if (then === 'steps') await learnCauses(search)
  }
  if (!search.learned && !search.ambientCause) {
    const { everyInput } = search
    const what =
      everyInput.length === 0 ? 'set of steps' : 'set of steps, clock reads, files or other inputs'
    return {
      verdict: 'inconclusive',
      why: `The failure depends on what is pinned, but no ${what} could be proven to cause it.`,
    }
  }
  if (search.options.echoes) {
    search.begin('echoes')
    // Tests whether each step changed by a cause would also fail alone.
    const changed = search.learned?.changed ?? []
    await mapConcurrent(changed, search.ledger.concurrency, (step) => search.fails([step], 'echo'))
  }
  await dropFollowers(search)
  await runRepair(search)
  // Whether the first cause includes the order in which steps were answered.
  const { source, needed, ambientCause, learned } = search
  const inputs = learned?.causes.length ? needed : (ambientCause?.inputs ?? [])
  return {
    verdict: inputs.some((index) => source.ambient[index]!.kind === 'order')
      ? 'race'
      : 'attributed',
  }
}

/**
 * If the run fails whatever is pinned, a back-up may take over once the cause is repaired. Searches
 * for causes with every other step frozen.
 */
async function separatesFrozen(search: Search): Promise<boolean> {
  search.mode = 'frozen'
  if ((await takeAnchors(search, search.replayCell, search.freeCell)).areSeparate) {
    search.note(
      'In a live run, something else makes it fail once the cause is repaired. Causes were tested with all other steps as recorded.',
    )
    return true
  }
  search.mode = 'free'
  return false
}

function unattributed(
  { source }: Search,
  { pinned, free, areSame, areRepeated }: Anchors,
): Conclusion {
  if (pinned.forks === 0 || (pinned.fails > 0 && free.forks === 0)) {
    const which = pinned.forks === 0 ? 'the unchanged run' : 'the run with every step free'
    return { verdict: 'inconclusive', why: `Forks of ${which} came to no verdict.` }
  }
  if (pinned.fails === 0) {
    const why = `The unchanged run failed in ${rateText(pinned)} forks: by this oracle it passes.`
    return { verdict: 'no attributable step', why }
  }
  const rates = `unchanged, the run failed in ${rateText(pinned)} forks; with nothing pinned in ${rateText(free)} (${intervalText(rateOf(free))})`
  if (!areSame) {
    return { verdict: 'inconclusive', why: `That is not enough to decide: ${rates}.` }
  }
  if (pinned.fails < pinned.forks) {
    return { verdict: 'flaky', why: `It does not fail every time, whatever is pinned: ${rates}.` }
  }
  const { alwaysPinned = [] } = source
  const but = alwaysPinned.length === 0 ? '' : ` but ${listText(alwaysPinned)}`
  const same = areRepeated ? ', the same way each time' : ''
  const why = `Run again with nothing pinned${but}, the agent failed ${rateText(free)} times${same} (${intervalText(rateOf(free))}).`
  return { verdict: 'no attributable step', why }
}
