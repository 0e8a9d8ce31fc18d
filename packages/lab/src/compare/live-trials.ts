import { type Breakage, breakageText } from '../texts/breakage.js'
import { Deadline } from '@retake/tape/format'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { confidenceSequence } from '../search/stats.js'
import { diffRuns } from '@retake/tape/diff'
import type { ContinuePlan, MovedRoot } from '@retake/engine'
import { RetakeError } from '@retake/engine/errors'
import { costUsd, errorName, type Tape, defined, sumKnown, attempt } from '@retake/tape'
import { openTape, replacePrivateFile } from '@retake/tape/node'
import type { TrialTable } from '@retake/tape'
import { type Launch, continueAgent } from '@retake/runner/agent'
import { whyUnanswered } from '../blame/fork-run.js'
import { project } from '@retake/runner/config'
import type { FixTrial } from '../proof/prove-fixes.js'
import { type Oracle, readOutcome, undecided, type Judgement, judged } from '@retake/runner/oracle'
import { branchFacts, spentTokens, comparisonFolderOf, viewRun } from '@retake/runner/runs'
import { locationOf } from '@retake/runner/terminal'

export interface LiveTrial extends Omit<FixTrial, 'broke' | 'pinnedToChanged' | 'isStored'> {
  readonly broke?: Breakage
  readonly pinnedToChanged?: number
  /** Number of live requests to models, and of those changed by the plan. */
  readonly changed?: { readonly requests: number; readonly edited: number }
  /** `host:port` of a refused request. */
  readonly refusedAddress?: string
  readonly tokens: number
  readonly difference?: string
  /** Uses of the unchanged code. */
  readonly uses?: readonly string[]
}

export interface LiveTrialOptions {
  readonly oracle: Oracle
  readonly signal: AbortSignal
  readonly timeoutMs: number
  readonly env?: Readonly<Record<string, string>>
  readonly nodeArgs?: readonly string[]
  /** Confines the processes of trials. */
  readonly sandbox?: TrialLauncher | undefined
  /** URL of a module that watches what the process uses. */
  readonly watch?: (() => string) | undefined
  /** Where the project of a tape is now (default: as recorded, or the working directory). */
  readonly rootOf?: ((tape: Tape) => MovedRoot | undefined) | undefined
}

export type TrialLauncher = (tape: Tape, isLive: boolean) => Launch

export async function runTrial(
  recorded: Tape,
  plan: ContinuePlan,
  options: LiveTrialOptions,
): Promise<LiveTrial> {
  const { oracle, signal, timeoutMs, env = {}, nodeArgs = [], sandbox, watch } = options
  using deadline = new Deadline({ ms: timeoutMs, signals: [signal] })
  if (plan.branch) mkdirSync(path.dirname(plan.branch.path), { recursive: true, mode: 0o700 })
  const continued = await continueAgent(recorded, plan, {
    stdio: 'ignore',
    env,
    nodeArgs,
    stopped: deadline.signal,
    watch: watch?.(),
    launch: sandbox?.(recorded, plan.live?.refuse !== 'everything'),
  }).catch((error: unknown) => {
    if (error instanceof RetakeError && error.code === 'REPLAY_WITHOUT_REPORT') return undefined
    throw error
  })
  signal.throwIfAborted()
  const late: Breakage | undefined = deadline.isPast
    ? { code: 'timeout', seconds: timeoutMs / 1000 }
    : undefined
  if (continued === undefined)
    return { ...NOTHING, ...undecided(''), broke: late ?? { code: 'crashed' } }
  const [divergence] = continued.divergences
  if (divergence !== undefined)
    return {
      ...NOTHING,
      ...undecided(''),
      broke: { code: 'changed-before-edit', summary: divergence.summary },
    }
  const tape = continued.isLive ? openTape(continued.tape) : recorded
  const { live } = continued
  const refused = live?.refused
  const facts = continued.isLive
    ? branchFacts(tape, viewRun(tape))
    : { paidUsd: 0, paidTokens: 0, live: 0 }
  const broke = late ?? (refused ? undefined : whyUnanswered(tape, recorded))
  const judgement =
    refused !== undefined || broke !== undefined
      ? undecided(broke ? breakageText(broke) : `it would do: ${refused?.what}`)
      : await judgeTape(recorded, tape, oracle, signal)
  const difference = firstDifference(recorded, tape)
  return {
    verdict: judgement.verdict,
    reason: judgement.reason,
    ...(broke !== undefined && { broke }),
    ...(refused && { refused: refused.what }),
    ...(refused?.address !== undefined && { refusedAddress: refused.address }),
    ...(live && { changed: { requests: live.requests, edited: live.edited } }),
    ...(facts.paidUsd !== undefined && { costUsd: facts.paidUsd }),
    tokens: facts.paidTokens,
    live: facts.live,
    pinnedToChanged: continued.pinned?.forced.length ?? 0,
    ms: Math.round(continued.wallMs - continued.servedMs),
    tape: tape.path,
    ...(difference !== undefined && { difference }),
  }
}

const NOTHING = { tokens: 0, live: 0, ms: 0, costUsd: 0 }

/** Judges a branch. A branch with an error that its parent did not have fails. */
export async function judgeTape(
  recorded: Tape,
  branch: Tape,
  oracle: Oracle,
  signal: AbortSignal,
): Promise<Judgement> {
  const outcome = readOutcome(branch)
  const judgement = await oracle(outcome, signal)
  const { error } = outcome
  const isNew = error !== undefined && readOutcome(recorded).error?.class !== error.class
  if (judgement.verdict !== 'undefined' || !isNew) return judgement
  return judged(false, `it broke: ${errorName(error)}: ${error.message.split('\n')[0]}`)
}

/** Where two runs first differ: `step 3 choices.0.message.content`. */
export function firstDifference(a: Tape, b: Tape): string | undefined {
  const first = attempt(() => diffRuns(viewRun(a), viewRun(b)).first)
  if (first === undefined) return undefined
  if (first.in === 'outcome') return first.path
  if (first.in === 'output') return locationOf(first)
  const label = first.a ?? first.b ?? ''
  const where = first.path === undefined ? '' : ` ${first.path}`
  return `step ${label} ${first.change}${where}`
}

export class StoredTrials {
  readonly #file: string
  readonly #trials: Record<string, LiveTrial>

  constructor(
    readonly folder: string,
    options: { readonly fresh: boolean },
  ) {
    this.#file = path.join(folder, 'results.json')
    // Trials stored by another version are repeated.
    this.#trials = (!options.fresh && readVersioned(this.#file).trials) || {}
  }

  get(key: readonly unknown[]): LiveTrial | undefined {
    return this.#trials[hashOf(key)]
  }

  /** Trials that say nothing about the agent are not stored, but repeated next time. */
  add(key: readonly unknown[], trial: LiveTrial): void {
    if (
      trial.broke !== undefined ||
      trial.notRun !== undefined ||
      trial.missingVariables !== undefined ||
      trial.unknownAddress !== undefined
    )
      return
    this.#trials[hashOf(key)] = trial
    replacePrivateFile(this.#file, JSON.stringify({ version: 1, trials: this.#trials }))
  }
}

const tableFile = (tape: Tape): string => path.join(comparisonFolderOf(tape.path), 'table.json')

export function writeTrialTable(tape: Tape, trialTable: TrialTable): void {
  replacePrivateFile(tableFile(tape), JSON.stringify({ version: 1, table: trialTable }))
}

/** The last table of `retake compare`. */
export function readTrialTable(tape: Tape): TrialTable | undefined {
  return readVersioned(tableFile(tape)).table
}

interface TrialFile {
  readonly version?: number
  readonly table?: TrialTable
  readonly trials?: Record<string, LiveTrial>
}

/** Empty if the file cannot be read or has another version. */
function readVersioned(file: string): TrialFile {
  const read = attempt(() => JSON.parse(readFileSync(file, 'utf8')) as TrialFile)
  return read?.version === 1 ? read : {}
}

export const hashOf = (key: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(key)).digest('hex').slice(0, 32)

/** Summary of trials. Trials without a verdict count as neither pass nor fail. */
export function trialFigures(trials: readonly LiveTrial[]) {
  const judgedTrials = trials.filter(({ verdict }) => verdict !== 'undefined')
  const passed = judgedTrials.filter(({ verdict }) => verdict === 'pass').length
  const times = trials
    .filter(({ broke, refused }) => broke === undefined && refused === undefined)
    .map(({ ms }) => ms)
    .toSorted((a, b) => a - b)
  return {
    trials: trials.length,
    judged: judgedTrials.length,
    passed,
    ...(judgedTrials.length > 0 && { interval: confidenceSequence(passed, judgedTrials.length) }),
    ...defined({ costUsd: sumKnown(trials.map((trial) => trial.costUsd)) }),
    ...(times.length > 0 && { medianMs: times[Math.floor((times.length - 1) / 2)] }),
  }
}

export const shareInterval = (interval: { readonly low: number; readonly high: number }): string =>
  `[${shareText(interval.low)}–${shareText(interval.high)}]`

const shareText = (share: number): string =>
  share
    .toFixed(2)
    .replace(/^0(?=\.)/, '')
    .replace(/\.?0+$/, '') || '0'

/** Cost of the model steps of a run from an event on, as recorded or at the prices of `model`. */
export function tailCost(
  tape: Tape,
  from: number,
  model?: string,
): { readonly costUsd?: number; readonly tokens: number } {
  const steps = viewRun(tape).recordedSteps.filter(
    ({ kind, seq }) => kind === 'model' && seq >= from,
  )
  const costs = steps.map(({ usage, costUsd: recorded, provider }) =>
    model === undefined || usage === undefined
      ? recorded
      : costUsd(model, usage, project().prices, provider),
  )
  const tokens = steps.reduce((sum, step) => sum + spentTokens(step), 0)
  return { tokens, ...defined({ costUsd: sumKnown(costs) }) }
}
