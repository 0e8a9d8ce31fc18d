import { mapConcurrent } from '@retake/tape'
import { Interrupted } from '../terminal/exit-codes.js'
import { type Options, type Verb } from '../command-line/verb.js'
import type { Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { whyNotRunAgain } from '../sources/source-code.js'
import { requireTrust } from '../agent/trust.js'
import { explainOrThrow } from '../terminal/print-error.js'
import { cliErrors } from '../errors.js'
import { givenOracle } from '../oracle/make-oracle.js'
import type { RunOutcome } from '../config/oracle-source.js'
import { readOutcome } from '../oracle/oracle.js'
import { Progress } from '../terminal/terminal.js'
import { whyNotReplayed } from './probe-agent.js'

export const ALL_RUNS_OPTIONS: Verb['options'] = {
  '--since <when>': 'only runs that started since then: 30m, 12h, 7d, 2w, or a date',
  '--jobs <n>': 'number of replays at a time (default: one per core)',
}

export interface ChosenRun {
  readonly tape: Tape
  readonly outcome: 'failed' | 'passed' | 'undecided'
}

export interface SkippedRun {
  readonly run: string
  readonly reason: string
}

/**
 * The runs of the folder that can be replayed here, oldest first, judged by the oracle. Without an
 * oracle, an error, a signal or an exit code other than 0 is a failure.
 */
export async function chooseRuns(
  options: Options,
): Promise<{ readonly runs: readonly ChosenRun[]; readonly skipped: SkippedRun[] }> {
  const since = options.time('since') ?? -Infinity
  const oracle = await givenOracle(options)
  const { store } = options
  const ids = store.ids().toReversed()
  const runs: ChosenRun[] = []
  const skipped: SkippedRun[] = []
  for (const id of ids) {
    try {
      const tape = openTape(store.pathOf(id))
      if (tape.run.startedAt < since) continue
      const why = whyNotRunAgain(tape)
      if (why !== undefined) {
        skipped.push({ run: id, reason: why })
        continue
      }
      requireTrust(tape)
      const outcome = readOutcome(tape)
      const { verdict } = oracle
        ? await oracle(outcome, new AbortController().signal)
        : { verdict: endOf(outcome) }
      runs.push({ tape, outcome: OUTCOMES[verdict] })
    } catch (error) {
      const explained = explainOrThrow(error)
      if (explained.code === 'WRONG_USAGE') throw error
      skipped.push({ run: id, reason: `${explained.what} (${explained.code})` })
    }
  }
  if (runs.length === 0 && skipped.length === 0) throw cliErrors.NO_RUNS(store.folder)
  return { runs, skipped }
}

/** Inspects several runs concurrently. Skips runs that cannot be replayed. */
export async function inspectRuns<T>(
  runs: readonly ChosenRun[],
  skipped: SkippedRun[],
  jobs: number,
  look: (run: ChosenRun) => Promise<T>,
): Promise<T[]> {
  using progress = new Progress(`0 of ${runs.length} runs`)
  let done = 0
  const found = await mapConcurrent(runs, jobs, async (run) => {
    try {
      return [await look(run)]
    } catch (error) {
      if (error instanceof Interrupted) throw error
      skipped.push({ run: run.tape.run.id, reason: whyNotReplayed(error) })
      return []
    } finally {
      progress.say(`${++done} of ${runs.length} runs`)
    }
  })
  return found.flat()
}

const OUTCOMES = { pass: 'passed', fail: 'failed', undefined: 'undecided' } as const

function endOf({ ended, exitCode, signal, error }: RunOutcome): keyof typeof OUTCOMES {
  if (!ended && signal === undefined) return 'undefined'
  return signal === undefined && error === undefined && (exitCode ?? 0) === 0 ? 'pass' : 'fail'
}
