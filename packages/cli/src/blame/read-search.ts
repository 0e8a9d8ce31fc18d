import { type Options, SECONDS, usageError } from '../command-line/verb.js'
import { availableParallelism } from 'node:os'
import path from 'node:path'
import { DEFAULT_FORKS } from '@retake/diagnose'
import { containsSecret, planPinned } from '@retake/engine'
import { isSurrounding } from '@retake/engine/runs'
import { environmentOnTape, type Step, type Tape } from '@retake/tape'
import { project } from '../config/define-config.js'
import { checkContinuable } from '../agent/continue-agent.js'
import { cliErrors } from '../errors.js'
import { givenOracle } from '../oracle/make-oracle.js'
import type { Oracle } from '../oracle/oracle.js'
import { LocalForkPool } from './forks.js'
import { runFork } from './fork-run.js'
import { planInterventions } from './interventions.js'
import { type BlameSearch, searchedSteps } from './search-run.js'

/** At most this many forks unless the user says otherwise. */
export const FORKS = DEFAULT_FORKS

/** Reads the options of a search. Throws before anything runs. */
export async function readSearch(
  tape: Tape,
  options: Options,
  signal: AbortSignal,
): Promise<BlameSearch> {
  const defaults = project().blame
  const limits = readLimits(options)
  const pool = readPool(options)
  const given = options.variables()
  const oracle = await readOracle(tape, options)
  const steps = searchedSteps(tape)
  if (steps.length === 0) throw cliErrors.BLAME_NO_STEPS(tape.run.id)
  const spansOf = readSpans(steps, options.text('spans'))
  const wanted = options.texts('free')
  const free = wanted.length > 0 ? wanted : defaults.free
  const simulator = options.text('simulator') ?? defaults.simulator
  const { folder = process.cwd() } = wanted.length > 0 ? {} : project()
  const interventions = planInterventions(tape, steps, free, {
    folder,
    runs: options.store,
    ...(simulator !== undefined && { simulator: path.resolve(simulator) }),
  })
  const { live } = interventions
  const isAnswered = interventions.simulator !== undefined || live.length === 0
  const env = isAnswered && spansOf === undefined ? { ...placeholders(tape), ...given } : given
  checkContinuable(tape, planPinned(tape, { pinned: [], mode: 'free', seed: 0 }), env)
  return {
    tape,
    steps,
    oracle,
    free,
    interventions,
    env,
    pool,
    ...limits,
    classic: options.flag('classic'),
    ...(spansOf && { spansOf }),
    ...(options.flag('keep') && { tapesFolder: path.dirname(path.resolve(tape.path)) }),
    signal,
  }
}

/** Placeholders of the tape for missing secrets: enough if nothing goes live. */
function placeholders(tape: Tape): Record<string, string> {
  const found: Record<string, string> = {}
  for (const { name, value, isSecret } of environmentOnTape(tape).values()) {
    if (value === null || name in process.env || isSurrounding(name)) continue
    if (isSecret === true || containsSecret(name, value)) found[name] = value
  }
  return found
}

/** The model step whose input is searched. */
function readSpans(steps: readonly Step[], label: string | undefined): Step | undefined {
  if (label === undefined) return undefined
  const step = steps.find((each) => each.label === label)
  const models = steps.filter(({ kind }) => kind === 'model').map((each) => each.label)
  if (step?.kind === 'model' && step.exchange()?.request.json !== undefined) return step
  throw usageError(
    `--spans ${label} is not a model step.`,
    models.length === 0 ? 'The run calls no model.' : `The model steps are ${models.join(', ')}.`,
  )
}

function readLimits(
  options: Options,
): Pick<BlameSearch, 'seed' | 'maxForks' | 'maxUsd' | 'timeoutMs'> {
  const defaults = project().blame
  const maxUsd = options.number('max-usd', { fraction: true }) ?? defaults.maxUsd
  return {
    seed: options.number('seed') ?? 1,
    maxForks: options.number('max-forks') ?? defaults.maxForks ?? FORKS,
    ...(maxUsd !== undefined && { maxUsd }),
    timeoutMs: (options.number('timeout', SECONDS) ?? 120) * 1000,
  }
}

/** Processes of this machine. */
export function readPool(options: Options): LocalForkPool {
  const jobs = options.number('jobs', { least: 1, most: 256 })
  const size = jobs ?? project().blame.jobs ?? availableParallelism()
  // Each fork listens for the signals that end this command.
  process.setMaxListeners(Math.max(process.getMaxListeners(), 2 * size + 10))
  return new LocalForkPool(size, runFork)
}

async function readOracle(tape: Tape, options: Options): Promise<Oracle> {
  const { blame, oracle } = project()
  const chosen = await givenOracle(options, tape, blame.oracle ?? oracle)
  if (chosen !== undefined) return chosen
  throw usageError(
    'Missing option --oracle <check>.',
    "For example: --oracle 'stdout:/refunded/', or exit:0.",
  )
}
