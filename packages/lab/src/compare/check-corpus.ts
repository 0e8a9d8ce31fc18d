import { breakageText } from '../texts/breakage.js'
import { inFolder } from '@retake/runner/agent'
import { mapConcurrent, type Tape, sumKnown } from '@retake/tape'
import { Deadline } from '@retake/tape/format'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { diffRuns, type StepDiff } from '@retake/tape/diff'

import type { MovedRoot } from '@retake/engine'
import { planFork, planRerun } from '@retake/engine/plans'
import { openTape } from '@retake/tape/node'
import { type ChangedFile, changedFiles, firstTouchOf } from '@retake/runner/agent'
import { continueAgent, type Continued } from '@retake/runner/agent'
import { movedHere, whyNotRunAgain } from '@retake/runner/agent'
import { requireTrust } from '@retake/runner/agent'
import { explain, explainOrThrow } from '@retake/runner/command-line'
import { type Judgement, readOutcome, type RunOutcome } from '@retake/runner/oracle'
import type { GitRepository } from '../worktree/git-repository.js'
import { withCheckout } from '../worktree/checkout.js'
import { checkTape, viewRun } from '@retake/runner/runs'
import { temporaryFolder } from '@retake/runner/temporary-folder'
import { PLAIN_LOOK, stepDiffLines } from '@retake/runner/terminal'
import {
  judgeTape,
  type LiveTrial,
  type LiveTrialOptions,
  runTrial,
  tailCost,
  trialFigures,
} from './live-trials.js'

/**
 * Verdict on one tape. `unchanged`: today's code makes exactly the recorded requests and ends the
 * same way, which is a proof and costs nothing. `same`, `fails`, `fixed`: it makes another request,
 * and live continuations were judged. `undecided`: they could not be judged. `skipped`: the tape
 * cannot be checked here.
 */
export type CorpusStatus = 'unchanged' | 'same' | 'fails' | 'fixed' | 'undecided' | 'skipped'

export interface CorpusVerdict {
  readonly tape: string
  readonly run?: string
  readonly name: string
  readonly status: CorpusStatus
  readonly reason: string
  readonly diff?: readonly string[]
  /** Label of the first step whose request differs. */
  readonly at?: string
  /** Location in the agent's code, as `file:line:column`. */
  readonly site?: string
  readonly changedFiles?: readonly ChangedFile[]
  /** Set if all requests were served and it prints something else: the first line that differs. */
  readonly output?: { readonly before: string; readonly after: string }
  /** True if every request was served, so that the verdict is certain. */
  readonly isExact?: boolean
  readonly recorded?: Judgement['verdict']
  readonly now?: ReturnType<typeof trialFigures>
  readonly base?: ReturnType<typeof trialFigures>
  readonly costUsd?: number
  readonly ms: number
}

export interface CheckCorpusOptions extends LiveTrialOptions {
  /** Folder for tapes of trials, writable for the sandbox (default: the temporary folder). */
  readonly folder?: string
  readonly times: number
  readonly jobs: number
  readonly liveTools: boolean
  readonly maxUsd: number | undefined
  readonly base?: { readonly repository: GitRepository; readonly commit: string } | undefined
  /** Called with what would go live, before it does. */
  readonly confirm: (estimate: CorpusEstimate) => Promise<void>
  readonly onProgress: (text: string) => void
}

export interface CorpusEstimate {
  readonly tapes: number
  readonly trials: number
  readonly tokens: number
  readonly costUsd?: number
}

/** A tape whose requests changed, before anything is sent. */
interface ChangedTape {
  readonly tape: Tape
  readonly root: MovedRoot | undefined
  readonly until: number | undefined
  /** First step that is no longer served; missing if today's code only adds steps. */
  readonly at: string | undefined
  readonly verdict: Omit<CorpusVerdict, 'status'>
  readonly cost: ReturnType<typeof tailCost>
}

export async function checkCorpus(
  files: readonly string[],
  options: CheckCorpusOptions,
): Promise<CorpusVerdict[]> {
  using temporary = temporaryFolder('ci', options.folder)
  const { path: folder } = temporary
  let done = 0
  const found = await mapConcurrent(files, options.jobs, async (file) => {
    const proved = await proveTape(file, folder, options)
    options.onProgress(`${++done} of ${files.length} tapes: ${path.basename(file)}`)
    return proved
  })
  const changed = found.filter((each) => 'cost' in each)
  if (changed.length > 0) {
    const times = options.times * (options.base === undefined ? 1 : 2)
    const costUsd = sumKnown(changed.map(({ cost }) => cost.costUsd))
    await options.confirm({
      tapes: changed.length,
      trials: changed.length * times,
      tokens: changed.reduce((sum, { cost }) => sum + times * cost.tokens, 0),
      ...(costUsd !== undefined && { costUsd: times * costUsd }),
    })
  }
  const trials = new CorpusTrials(folder, options)
  const judged = new Map(
    await mapConcurrent(changed, options.jobs, async (each): Promise<[Tape, NewTrials]> => {
      options.onProgress(`${each.verdict.name}: today's code, live`)
      return [each.tape, await trials.ofNewCode(each)]
    }),
  )
  const base = await trials.ofOldCode(changed)
  return await Promise.all(
    found.map(async (each) =>
      'cost' in each ? concluded(each, judged.get(each.tape), base.get(each.tape), options) : each,
    ),
  )
}

async function proveTape(
  file: string,
  folder: string,
  options: CheckCorpusOptions,
): Promise<CorpusVerdict | ChangedTape> {
  const startedMs = performance.now()
  const ms = (): number => Math.round(performance.now() - startedMs)
  let facts: Pick<CorpusVerdict, 'tape' | 'name' | 'run'> = {
    tape: file,
    name: path.basename(file),
  }
  try {
    const tape = openTape(file)
    facts = { tape: file, name: tape.run.name, run: tape.run.id }
    const why = whyNotChecked(tape)
    if (why !== undefined) return { ...facts, status: 'skipped', reason: why, ms: ms() }
    requireTrust(tape)
    const root = (options.rootOf ?? movedHere)(tape)
    const changed = changedFiles(tape, root)
    const until = firstTouchOf(tape, changed)
    const rerun = planRerun(tape, { effects: 'refused', ...(until !== undefined && { until }) })
    const plan = { ...inFolder(rerun, folder), isDiscarded: true, ...(root && { root }) }
    using deadline = new Deadline({ ms: options.timeoutMs, signals: [options.signal] })
    const continued = await continueAgent(tape, plan, {
      stdio: 'ignore',
      env: options.env ?? {},
      nodeArgs: options.nodeArgs ?? [],
      stopped: deadline.signal,
      watch: options.watch?.(),
      launch: options.sandbox?.(tape, false),
    })
    options.signal.throwIfAborted()
    const common = { ...facts, ...(changed.length > 0 && { changedFiles: changed }) }
    if (deadline.isPast) {
      const reason = `it took longer than ${options.timeoutMs / 1000} s`
      return { ...common, status: 'undecided', reason, ms: ms() }
    }
    if (!continued.isLive)
      return { ...common, status: 'unchanged', reason: 'identical', costUsd: 0, ms: ms() }
    const compared = compareRequests(tape, continued)
    if (compared === undefined) return await judgeServed(tape, continued, common, options, ms)
    return {
      tape,
      root,
      until,
      at: compared.at,
      verdict: {
        ...common,
        ...compared.difference,
        ...(compared.at !== undefined && { at: compared.at }),
        ms: ms(),
      },
      cost: tailCost(tape, compared.from),
    }
  } catch (error) {
    const explained = explainOrThrow(error)
    const reason = `${explained.what} (${explained.code})`
    return { ...facts, status: 'skipped', reason, ms: ms() }
  }
}

export const whyNotChecked = (tape: Tape): string | undefined =>
  whyIncomplete(tape) ?? whyNotRunAgain(tape)

/** Why a tape does not show the whole run; undefined if it does. */
export function whyIncomplete(tape: Tape): string | undefined {
  const { integrity } = checkTape(tape)
  if (integrity === 'damaged') return 'the tape is damaged'
  if (integrity === 'recording') return 'it is still being recorded'
  const inDoubt = viewRun(tape).recordedSteps.filter(({ state }) => state === 'in doubt')
  if (inDoubt.length > 0)
    return `in doubt: ${inDoubt.map(({ label, title }) => `step ${label} ${title}`).join(', ')}`
  return tape.isComplete ? undefined : 'the recording was cut off'
}

/** Returns undefined if exactly the recorded requests were made. */
function compareRequests(tape: Tape, continued: Continued) {
  const branch = openTape(continued.tape)
  const refused = continued.live?.refused
  const [before, now] = [tape, branch].map((each) =>
    viewRun(each).recordedSteps.filter(({ kind }) => kind !== 'mark'),
  )
  const isSame = refused === undefined && before?.length === now?.length
  if (isSame) return undefined
  const diff = diffRuns(viewRun(tape), viewRun(branch), { only: ['messages', 'tools', 'requests'] })
  // A refused request has no answer, which alone is not a difference.
  const first = diff.steps.find(
    (step) => step.change !== 'changed' || requestOnly(step).fields.length > 0,
  )
  const at = first?.a?.label
  const site = refused?.site ?? first?.b?.site
  return {
    at,
    from: first?.a?.seq ?? tape.count,
    difference: {
      reason: refused === undefined ? 'it makes other requests' : `it would send: ${refused.what}`,
      diff:
        first === undefined
          ? []
          : stepDiffLines(requestOnly(first), { ...PLAIN_LOOK, full: false }),
      ...(site !== undefined && { site }),
    },
  }
}

function requestOnly(step: StepDiff): StepDiff {
  const { a, b, fields } = step
  return {
    ...step,
    ...(a && { a: { ...a, latencyMs: undefined } }),
    ...(b && { b: { ...b, latencyMs: undefined } }),
    fields: fields.filter(({ b: now, path: field }) => now !== undefined && field !== 'state'),
  }
}

/** All requests are on the tape, so one run decides, at no cost. */
async function judgeServed(
  tape: Tape,
  { tape: file, exitCode }: Continued,
  common: Pick<CorpusVerdict, 'tape' | 'name' | 'run'>,
  { oracle, signal }: CheckCorpusOptions,
  ms: () => number,
): Promise<CorpusVerdict> {
  const branch = openTape(file)
  const [then, now] = [readOutcome(tape), readOutcome(branch)]
  if (isDeepStrictEqual(visible(then), visible(now)))
    return { ...common, status: 'unchanged', reason: 'the same requests', costUsd: 0, ms: ms() }
  const [recorded, judgement] = [
    await oracle(then, signal),
    await judgeTape(tape, branch, oracle, signal),
  ]
  const trial: LiveTrial = { ...judgement, tokens: 0, live: 0, ms: 0, costUsd: 0 }
  const status = statusOf(recorded.verdict, trialFigures([trial]), undefined)
  const reason =
    status === 'fails' || status === 'undecided'
      ? `the same requests, another outcome: ${judgement.reason}`
      : `the same requests, another output (exit code ${exitCode})`
  return {
    ...common,
    status,
    reason,
    isExact: true,
    output: outputDifference(then, now),
    recorded: recorded.verdict,
    now: trialFigures([trial]),
    costUsd: 0,
    ms: ms(),
  }
}

const visible = ({ stdout, exitCode, error, result }: RunOutcome): object => ({
  stdout,
  exitCode,
  error,
  result,
})

/** The first line that differs, or how the runs end. */
function outputDifference(then: RunOutcome, now: RunOutcome): { before: string; after: string } {
  const [before, after] = [then, now].map(({ stdout }) => stdout.split('\n'))
  const at = before!.findIndex((line, index) => line !== after![index])
  const first = at < 0 ? before!.length : at
  if (first < Math.max(before!.length, after!.length))
    return { before: before![first] ?? '', after: after![first] ?? '' }
  const endOf = ({ exitCode, error, result }: RunOutcome): string =>
    error === undefined
      ? (JSON.stringify(result) ?? `exit code ${exitCode ?? 'unknown'}`)
      : `${error.class}: ${error.message}`
  return { before: endOf(then), after: endOf(now) }
}

interface NewTrials {
  readonly trials: readonly LiveTrial[]
  readonly missing?: string
}

/** Live continuations of all changed tapes, within one budget. */
class CorpusTrials {
  #spentUsd = 0

  constructor(
    readonly folder: string,
    readonly options: CheckCorpusOptions,
  ) {}

  ofNewCode(changed: ChangedTape): Promise<NewTrials> {
    const { tape, until, root } = changed
    const effects = this.options.liveTools ? 'live' : 'served'
    return this.#run(changed, () => ({
      ...inFolder(planRerun(tape, { effects, ...(until !== undefined && { until }) }), this.folder),
      isDiscarded: true,
      ...(root && { root }),
    }))
  }

  /** Continues the old code from the step at which today's code first differs. */
  async ofOldCode(changed: readonly ChangedTape[]): Promise<Map<Tape, NewTrials>> {
    const { base, liveTools, jobs } = this.options
    if (base === undefined || changed.length === 0) return new Map()
    const { repository, commit } = base
    return withCheckout(repository, commit, async (checkout) => {
      const made = await mapConcurrent(changed, jobs, async (each): Promise<[Tape, NewTrials]> => {
        const { tape, at, root } = each
        if (at === undefined) return [tape, { trials: [] }]
        this.options.onProgress(`${each.verdict.name}: the old code, live`)
        const recorded = root?.recorded ?? repository.top
        const inside = path.relative(repository.top, root?.current ?? repository.top)
        const trials = await this.#run(each, () => ({
          ...inFolder(planFork(tape, { at, effects: liveTools ? 'live' : 'served' }), this.folder),
          isDiscarded: true,
          root: { recorded, current: path.join(checkout, inside) },
        }))
        return [tape, trials]
      })
      return new Map(made)
    })
  }

  async #run(
    { tape, cost }: ChangedTape,
    plan: () => Parameters<typeof runTrial>[1],
  ): Promise<NewTrials> {
    const { times, maxUsd } = this.options
    const trials: LiveTrial[] = []
    for (let index = 0; index < times; index++) {
      const nextUsd = cost.costUsd ?? 0
      if (maxUsd !== undefined && this.#spentUsd + nextUsd > maxUsd)
        return { trials, missing: breakageText({ code: 'out-of-budget' }) }
      this.#spentUsd += nextUsd
      try {
        const trial = await runTrial(tape, plan(), this.options)
        this.#spentUsd += (trial.costUsd ?? nextUsd) - nextUsd
        // A silent provider or a refused effect would recur next time.
        if (trial.broke !== undefined) return { trials, missing: breakageText(trial.broke) }
        if (trial.refused !== undefined)
          return { trials, missing: `would run ${trial.refused} (--live-tools)` }
        trials.push(trial)
        // Nothing was sent, so another trial would be the same.
        if (trial.live === 0) return { trials }
      } catch (error) {
        const explained = explain(error)
        if (explained === undefined || this.options.signal.aborted) throw error
        return { trials, missing: `${explained.what} (${explained.code})` }
      }
    }
    return { trials }
  }
}

async function concluded(
  { tape, verdict }: ChangedTape,
  now: NewTrials | undefined,
  base: NewTrials | undefined,
  { oracle, signal }: CheckCorpusOptions,
): Promise<CorpusVerdict> {
  const recorded = await oracle(readOutcome(tape), signal)
  const today = trialFigures(now?.trials ?? [])
  const old = base && trialFigures(base.trials)
  const status = statusOf(recorded.verdict, today, old)
  const failed = now?.trials.find((trial) => trial.verdict === 'fail')
  const missing = [
    ...(now?.missing === undefined ? [] : [`; ${now.missing}`]),
    ...(base?.missing === undefined ? [] : [`; the old code: ${base.missing}`]),
  ].join('')
  const said =
    today.judged === 0
      ? (now?.missing ?? now?.trials[0]?.reason ?? recorded.reason)
      : `${today.passed} of ${today.judged} pass${failed ? `: ${failed.reason}` : ''}${missing}`
  const spent = [...(now?.trials ?? []), ...(base?.trials ?? [])]
  const { costUsd } = trialFigures(spent)
  const ms = spent.reduce((sum, trial) => sum + trial.ms, verdict.ms)
  return {
    ...verdict,
    status,
    reason: `${verdict.reason} · ${said}`,
    recorded: recorded.verdict,
    now: today,
    ...(old && { base: old }),
    ...(costUsd !== undefined && { costUsd }),
    ms,
  }
}

/** Compares majorities: the new code against the old, including the recorded run. */
function statusOf(
  recorded: Judgement['verdict'],
  now: ReturnType<typeof trialFigures>,
  base: ReturnType<typeof trialFigures> | undefined,
): CorpusStatus {
  const before = {
    judged: (base?.judged ?? 0) + (recorded === 'undefined' ? 0 : 1),
    passed: (base?.passed ?? 0) + (recorded === 'pass' ? 1 : 0),
  }
  if (now.judged === 0 || before.judged === 0) return 'undecided'
  const passes = ({ passed, judged }: typeof before): boolean => 2 * passed > judged
  if (passes(before) === passes(now)) return 'same'
  return passes(now) ? 'fixed' : 'fails'
}
