import { availableParallelism } from 'node:os'
import path from 'node:path'
import { DEFAULT_FORKS } from '../search/blame-run.js'
import { containsSecret, isSurrounding } from '@retake/engine/runs'
import { planPinned } from '@retake/engine/plans'
import { defined, environmentOnTape, type Step, type Tape } from '@retake/tape'
import { checkContinuable } from '@retake/runner/agent'
import { type Options, usageError } from '@retake/runner/command-line'
import { project } from '@retake/runner/config'
import { cliErrors } from '@retake/runner/errors'
import type { RecordedCode } from '@retake/runner/sources'
import { givenOracle, makeOracle, type Oracle, suggestOracle } from '@retake/runner/oracle'
import { RunStore } from '@retake/runner/runs'
import type { BlameRunOptions } from './blame-recorded.js'
import { LiveTools } from './effects.js'
import { runFork } from './fork-run.js'
import { LocalForkPool } from './forks.js'
import { planInterventions } from './interventions.js'
import { readProcesses } from './plan-processes.js'
import { searchedSteps } from './process-tree.js'
import type { BlameSearch } from './search-run.js'
import { Siblings } from './siblings.js'

const TIMEOUT_S = 120

/** The same for the library and the command line. */
type SharedSettings = {
  readonly [
    Name in 'free' | 'simulator' | 'maxForks' | 'maxUsd' | 'timeoutMs' | 'seed' | 'jobs' | 'env'
  ]?: BlameRunOptions[Name] | undefined
}

export interface SearchSettings extends SharedSettings {
  /** Default: suggested by the run and its siblings. */
  readonly oracle?: Oracle | undefined
  /** Comma-separated names; empty for all. */
  readonly liveTools?: string | undefined
  /** Refuses a search in which a free step would send a request. */
  readonly offline?: boolean
  /** Label of a model step whose request is also searched. */
  readonly spans?: string | undefined
  readonly classic?: boolean
  readonly savesTapes?: boolean
  readonly runs?: RunStore
  /** Runs this code instead of today's; used until the search has ended. */
  readonly code?: RecordedCode | undefined
}

/** Reads the options of a search. Throws before anything runs. */
export async function readSearchSettings(tape: Tape, options: Options): Promise<SearchSettings> {
  const { blame, oracle } = project()
  const free = options.texts('free')
  return {
    oracle: await givenOracle(options, tape, blame.oracle ?? oracle),
    free: free.length > 0 ? free : undefined,
    simulator: options.text('simulator'),
    liveTools: options.text('live-tools'),
    offline: options.flag('offline'),
    maxForks: options.number('max-forks'),
    maxUsd: options.number('max-usd', { fraction: true }),
    timeoutMs: options.timeoutMs(TIMEOUT_S),
    seed: options.number('seed'),
    jobs: options.jobs(blame.jobs),
    env: options.variables(),
    spans: options.text('spans'),
    classic: options.flag('classic'),
    savesTapes: options.flag('keep'),
    runs: options.store,
  }
}

/** Prepares a search. Throws before anything runs, and only reads other runs of the agent. */
export async function prepareSearch(
  tape: Tape,
  settings: SearchSettings,
  signal: AbortSignal,
): Promise<BlameSearch> {
  const defaults = project().blame
  const {
    runs = new RunStore(path.dirname(path.resolve(tape.path))),
    env: given = {},
    code,
  } = settings
  const siblings = new Siblings(tape, runs)
  const { oracle, oracleWhy } = await chooseOracle(tape, siblings, settings.oracle)
  const run = await readProcesses(tape, given, signal, code)
  const steps = searchedSteps(run)
  if (steps.length === 0) throw cliErrors.BLAME_NO_STEPS(tape.run.id)
  const spansOf = readSpans(steps, settings.spans)
  const free = settings.free ?? defaults.free
  const simulator = settings.simulator ?? defaults.simulator
  const liveTools = LiveTools.read(run, settings.liveTools, defaults.liveTools)
  await siblings.judge(oracle, signal)
  const { folder = process.cwd() } = settings.free === undefined ? project() : {}
  const interventions = planInterventions(tape, steps, free, {
    folder,
    runs,
    liveTools,
    others: siblings.otherAnswers(),
    ...(simulator !== undefined && { simulator: path.resolve(simulator) }),
  })
  const { live } = interventions
  if (settings.offline === true && simulator === undefined && live.length > 0)
    throw cliErrors.BLAME_OFFLINE(live)
  const isAnswered = interventions.simulator !== undefined || live.length === 0
  const env = isAnswered && spansOf === undefined ? { ...placeholders(tape), ...given } : given
  const everythingFree = planPinned(tape, { pinned: [], mode: 'free', seed: 0 })
  checkContinuable(tape, { ...everythingFree, ...defined({ root: code?.root }) }, env)
  const maxUsd = settings.maxUsd ?? defaults.maxUsd
  return {
    tape,
    process: run,
    steps,
    oracle,
    ...defined({ oracleWhy, spansOf, maxUsd, code }),
    free,
    interventions,
    env,
    pool: makePool(settings.jobs),
    seed: settings.seed ?? 1,
    maxForks: settings.maxForks ?? defaults.maxForks ?? DEFAULT_FORKS,
    timeoutMs: settings.timeoutMs ?? 1000 * TIMEOUT_S,
    classic: settings.classic ?? false,
    ...(settings.savesTapes && { tapesFolder: path.dirname(path.resolve(tape.path)) }),
    signal,
  }
}

/** The given oracle, or one suggested by the run and its siblings, with the reason. */
async function chooseOracle(
  tape: Tape,
  siblings: Siblings,
  given: Oracle | undefined,
): Promise<{ readonly oracle: Oracle; readonly oracleWhy?: string }> {
  if (given !== undefined) return { oracle: given }
  const suggested = suggestOracle(tape, siblings.references)
  if (suggested !== undefined)
    return {
      oracle: await makeOracle(suggested.oracle, { recorded: tape }),
      oracleWhy: suggested.why,
    }
  throw usageError(
    'Missing option --oracle <check>.',
    'The run ended with exit code 0, and no other recording with the same arguments printed another last line. Say what a pass is, for example --expect refunded or --oracle stdout:/refunded/.',
  )
}

/** The tape's placeholders for missing secrets, which are enough if nothing goes live. */
export function placeholders(
  tape: Tape,
  known: Readonly<Record<string, unknown>> = process.env,
): Record<string, string> {
  const found: Record<string, string> = {}
  for (const { name, value, isSecret } of environmentOnTape(tape).values()) {
    if (value === null || name in known || isSurrounding(name)) continue
    if (isSecret === true || containsSecret(name, value)) found[name] = value
  }
  return found
}

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

export function makePool(jobs: number | undefined): LocalForkPool {
  const size = jobs ?? project().blame.jobs ?? availableParallelism()
  // Each fork listens for the signals that end this command.
  process.setMaxListeners(Math.max(process.getMaxListeners(), 2 * size + 10))
  return new LocalForkPool(size, runFork)
}
