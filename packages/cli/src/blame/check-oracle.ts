import { type Coalition, confidenceSequence } from '@retake/diagnose'
import type { BlameFindings, Step } from '@retake/tape'
import { cliErrors } from '../errors.js'
import { readOutcome } from '../oracle/read-outcome.js'
import type { Judgement } from '../oracle/oracle.js'
import type { ProcessForks } from './process-forks.js'
import type { Search } from './search-run.js'

/** How often an oracle is asked about the unchanged run before anything else. */
const CHECKS = 4
/** And when it does not say the same each time. */
const CHECKS_UNSTEADY = 20
/** An oracle that fails the unchanged run less often than this is called flaky. */
const STEADY_PART = 0.8

/** What the oracle says of the recording itself: a run that passes needs no search. */
export async function judgeRecording(
  { tape, oracle }: Pick<Search, 'tape' | 'oracle'>,
  signal: AbortSignal,
): Promise<Judgement> {
  const said: Judgement[] = []
  while (said.length < CHECKS) {
    const judgement = await oracle(readOutcome(tape), signal)
    if (judgement.verdict === 'fail') return judgement
    said.push(judgement)
  }
  const passed = said.find(({ verdict }) => verdict === 'pass')
  if (passed !== undefined) return passed
  throw cliErrors.BLAME_CANNOT_TELL(oracle.text, said[0]?.reason ?? 'it said nothing')
}

/** An oracle that says now this and now that about the unchanged run can blame nobody. */
export async function checkOracle(
  source: ProcessForks,
  { steps, maxForks, signal }: Search,
): Promise<BlameFindings | undefined> {
  if (maxForks <= 0) return undefined
  const all: Coalition = { kept: steps.map((_, index) => index), mode: 'free' }
  let fails = 0
  let passes = 0
  const most = Math.min(CHECKS_UNSTEADY, maxForks)
  for (let draw = 0; draw < most; draw++) {
    const fork = await unlessStopped(source.fork(all, draw), signal)
    if (fork === undefined) return undefined
    const { outcome } = fork
    if (outcome === 'fail') fails += 1
    if (outcome === 'pass') passes += 1
    if (draw === CHECKS - 1 && passes === 0) return undefined
  }
  if (passes === 0 || fails / (fails + passes) >= STEADY_PART) return undefined
  return unsteadyFindings(steps, { fails, forks: fails + passes, asked: most })
}

/** Undefined when it came to nothing because the search was stopped. */
async function unlessStopped<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (signal.aborted) return undefined
    throw error
  }
}

/** What is found when the oracle itself is not steady: nobody is blamed, and the measured rate is said. */
function unsteadyFindings(
  steps: readonly Step[],
  { fails, forks, asked }: { readonly fails: number; forks: number; asked: number },
): BlameFindings {
  const { low, high } = confidenceSequence(fails, forks)
  const kept = { fails, forks, low, high }
  return {
    version: 1,
    verdict: 'flaky',
    why: `the oracle fails the unchanged run ${fails} of ${forks} times, and passes it the others`,
    causes: [],
    steps: steps.map(({ label }) => ({
      label,
      role: 'unknown',
      isNecessary: false,
      isSufficient: false,
      responsibility: 0,
    })),
    minimalRepair: [],
    confidence: 0,
    anchors: { kept, free: { fails: 0, forks: 0, low: 0, high: 1 } },
    riskCurve: [],
    mode: 'free',
    evidence: [
      {
        purpose: 'anchor',
        mode: 'free',
        kept: steps.length === 1 ? '0' : `0-${steps.length - 1}`,
        rate: kept,
        undefinedForks: asked - forks,
      },
    ],
    forks: { asked, served: 0, undefined: asked - forks, liveSteps: 0 },
    notes: ['Each time it was asked about the same output: make the oracle steady first.'],
  }
}
