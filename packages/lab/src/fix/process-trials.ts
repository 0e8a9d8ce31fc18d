import { type Breakage, breakageText } from '../texts/breakage.js'
import { inFolder, changedFiles, firstTouchOf, requireTrust } from '@retake/runner/agent'
import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type {
  CorpusResult,
  FixTrial,
  Probe,
  TrialOutput,
  TrialSource,
} from '../proof/prove-fixes.js'
import { progressOf } from '../proof/combine-fixes.js'
import { lossesOf, type RunBehaviour } from '../proof/losses.js'
import { stackSites } from '../proof/source-text.js'
import type { FixCandidate } from '../proof/candidates.js'
import type { ContinuePlan } from '@retake/engine'
import { planFork, planRerun } from '@retake/engine/plans'
import { diffRuns } from '@retake/tape/diff'
import { attempt, clipText, defined, errorName, originOf, type Step, type Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { diffLines } from '@retake/tape/present'
import { isSameAgent } from '../blame/siblings.js'
import { explain } from '@retake/runner/command-line'
import { checkCorpus, type CorpusStatus } from '../compare/check-corpus.js'
import {
  type LiveTrial,
  type LiveTrialOptions,
  runTrial,
  type StoredTrials,
  tailCost,
  hashOf,
} from '../compare/live-trials.js'
import { cliErrors } from '@retake/runner/errors'
import { type Oracle, readOutcome } from '@retake/runner/oracle'
import { viewRun } from '@retake/runner/runs'
import { tapeCopies } from '@retake/runner/tests'
import type { FixSettings } from './fix-run.js'
import { type AgentProject, ProjectCopy } from './project-copy.js'
import { TrialSandbox } from './trial-sandbox.js'

export interface ProcessTrialsOptions extends Pick<
  FixSettings,
  | 'signal'
  | 'timeoutMs'
  | 'env'
  | 'nodeArgs'
  | 'jobs'
  | 'allowsUnconfined'
  | 'maxUsd'
  | 'confirm'
  | 'onProgress'
> {
  readonly tape: Tape
  readonly project: AgentProject
  readonly oracle: Oracle
  /** Passing tapes that a fix must not break. */
  readonly corpus: readonly string[]
  /** True if requests that a fix changes may go to the model. */
  readonly mayGoLive: boolean
  /** True if the oracle looks at more than the exit code, so that another output may pass. */
  readonly judgesOutput: boolean
  /** True if concurrent requests were refused: with a fix, every answer may differ. */
  readonly isTimed: boolean
  readonly stored: StoredTrials
  /** Proposes changes for a run with a candidate, on top of it. */
  readonly proposeFurther: (candidate: FixCandidate, branch: Tape) => readonly FixCandidate[]
}

/** Maximum number of copies at a time: one for the control arm, and the last used ones. */
const COPIES_MAX = 3
/** Number of passing runs that may name models and keys. */
const ALIKE_MAX = 3

/**
 * Tries fixes by running the agent's real code, with the edits of a candidate, in a copy of the
 * project. Recorded requests are served. A trial first runs without network; if the fix makes
 * another request, it runs again with access to the models on the tape.
 */
export class ProcessTrials implements TrialSource {
  readonly folder: string
  readonly #copies = new Map<string, ProjectCopy>()
  readonly #sandbox: TrialSandbox | undefined
  readonly #tapes = new Map<string, Tape>()
  readonly #behaviours = new Map<Tape, RunBehaviour>()
  readonly #verdicts = new Map<string, LiveTrial['verdict']>()
  /** Digest of the project's files. */
  readonly #projectKey: string
  /** Candidates, and runs of the unchanged code, that make requests missing on the tape. */
  readonly #goesLive = new Set<string>()
  /** For each candidate, the last trial of this command with the failing run. */
  readonly #latest = new Map<string, LiveTrial>()
  /** For each candidate, a trial of this command in which the failing run passed. */
  readonly #passed = new Map<string, LiveTrial>()
  #confirmed: Promise<void> | undefined
  #spentUsd = 0
  /** Number of trials run, without those stored by an earlier command. */
  runs = 0

  constructor(readonly options: ProcessTrialsOptions) {
    this.folder = mkdtempSync(path.join(realpathSync(tmpdir()), 'retake-fix-'))
    const { kind } = TrialSandbox.kindFor(options.tape)
    const alike = options.corpus
      .slice(0, ALIKE_MAX)
      .flatMap(
        (file) =>
          attempt(() => {
            const tape = openTape(file)
            requireTrust(tape)
            return tape
          }) ?? [],
      )
      .filter((other) => isSameAgent(options.tape, other))
    // The permission model also refuses some of what ordinary code does.
    const isUnconfined = kind === 'permissions' && options.allowsUnconfined
    if (kind !== undefined && !isUnconfined)
      this.#sandbox = new TrialSandbox(this.folder, kind, alike)
    const { folder } = options.project
    const control = this.#copyOf(undefined)
    this.#projectKey = hashOf(
      control.files.map((file) => {
        const { size, mtimeMs } = statSync(path.join(folder, file))
        return [file, size, mtimeMs]
      }),
    )
  }

  get isConfined(): boolean {
    return this.#sandbox !== undefined
  }

  failing(
    candidate: FixCandidate | undefined,
    index: number,
    liveFrom?: string,
  ): Promise<FixTrial> {
    return this.#try(candidate, this.options.tape, index, liveFrom)
  }

  sibling(candidate: FixCandidate | undefined, tape: string, index: number): Promise<FixTrial> {
    return this.#try(candidate, this.#open(tape), index)
  }

  async unpinned(index: number): Promise<FixTrial> {
    const { stored, tape, oracle } = this.options
    const key = [this.#projectKey, 'unpinned', tape.startDigest, tape.run.id, oracle.key, index]
    const known = stored.get(key)
    if (known !== undefined) return asStored(asFixTrial(known, undefined))
    const trial = await this.#runLive(undefined, tape, 'unpinned')
    stored.add(key, trial)
    return asFixTrial(trial, undefined)
  }

  /** `pass`: the verdict is the same as for the recording. */
  async opposite(candidate: FixCandidate, file: string): Promise<FixTrial> {
    const tape = this.#open(file)
    const { oracle, signal } = this.options
    const recorded = this.#verdicts.get(file) ?? (await oracle(readOutcome(tape), signal)).verdict
    this.#verdicts.set(file, recorded)
    const trial = await this.#try(candidate, tape, 0)
    if (trial.verdict === 'undefined') return trial
    const isSame = trial.verdict === recorded
    return {
      ...trial,
      verdict: isSame ? 'pass' : 'fail',
      reason: isSame
        ? `still ${recorded}`
        : `${recorded} before, ${trial.verdict} now: ${trial.reason}`,
    }
  }

  async corpus(candidate: FixCandidate): Promise<readonly CorpusResult[]> {
    const { corpus, mayGoLive, maxUsd, onProgress } = this.options
    if (corpus.length === 0) return []
    onProgress(`${candidate.title}: ${corpus.length} passing runs`)
    const verdicts = await checkCorpus(corpus, {
      ...this.options,
      ...this.#confined(candidate),
      folder: this.folder,
      times: mayGoLive ? 1 : 0,
      liveTools: false,
      maxUsd: maxUsd === undefined ? undefined : maxUsd - this.#spentUsd,
      confirm: (estimate) => this.#confirm(estimate),
    })
    return verdicts.map(({ tape, status, reason, output, costUsd = 0 }) => {
      this.#spentUsd += costUsd
      // Without an oracle for it, nothing says that another output is as good.
      const isBroken = status === 'same' && output !== undefined && !this.options.judgesOutput
      const result = isBroken ? 'breaks' : CORPUS_RESULTS[status]
      return { tape, result, reason, ...defined({ output }) }
    })
  }

  async further(candidate: FixCandidate): Promise<readonly FixCandidate[]> {
    const { tape, proposeFurther } = this.options
    // Trials of an earlier command have no tape.
    const trial = this.#latest.get(candidate.id) ?? (await this.#runOnce(candidate, tape))
    return trial.tape === undefined ? [] : proposeFurther(candidate, openTape(trial.tape))
  }

  probes(): Promise<readonly Probe[]> {
    return Promise.resolve([])
  }

  probe(): Promise<FixTrial> {
    throw new Error('There are no probes yet.')
  }

  #open(file: string): Tape {
    const tape = this.#tapes.get(file) ?? openTape(file)
    this.#tapes.set(file, tape)
    return tape
  }

  async #try(
    candidate: FixCandidate | undefined,
    tape: Tape,
    index: number,
    liveFrom?: string,
  ): Promise<FixTrial> {
    const { oracle, stored, mayGoLive, onProgress } = this.options
    onProgress(`${candidate?.title ?? 'the unchanged code'}: trial ${index + 1}`)
    const key = [
      this.#projectKey,
      candidate?.id ?? '',
      tape.startDigest,
      tape.run.id,
      oracle.key,
      index,
      liveFrom ?? '',
    ]
    const known = stored.get([...key, mayGoLive])
    if (known !== undefined) return asStored(asFixTrial(known, candidate))
    this.runs++
    const trial = await this.#runOnce(candidate, tape, liveFrom)
    stored.add([...key, mayGoLive], trial)
    if (candidate !== undefined && tape === this.options.tape) {
      this.#latest.set(candidate.id, trial)
      if (trial.verdict === 'pass') this.#passed.set(candidate.id, trial)
    }
    return asFixTrial(trial, candidate)
  }

  /** Runs without network, and again with access to models if it makes another request. */
  async #runOnce(
    candidate: FixCandidate | undefined,
    tape: Tape,
    liveFrom?: string,
  ): Promise<LiveTrial> {
    const { isTimed, mayGoLive } = this.options
    if (isTimed && candidate !== undefined && mayGoLive)
      return this.#runLive(candidate, tape, 'unpinned')
    // A candidate that changed one request will change others.
    const goesLive = liveFrom !== undefined || this.#goesLive.has(candidate?.id ?? tape.run.id)
    const offline = goesLive ? undefined : await this.#run(candidate, tape, 'refused')
    if (offline !== undefined && (offline.refused === undefined || !mayGoLive)) return offline
    if (liveFrom === undefined) this.#goesLive.add(candidate?.id ?? tape.run.id)
    return this.#runLive(candidate, tape, liveFrom)
  }

  async #runLive(
    candidate: FixCandidate | undefined,
    tape: Tape,
    liveFrom: string | undefined,
  ): Promise<LiveTrial> {
    const { maxUsd } = this.options
    const estimate = tailCost(tape, 0)
    await this.#confirm(estimate)
    const { costUsd: expectedUsd = 0 } = estimate
    if (maxUsd !== undefined && this.#spentUsd + expectedUsd > maxUsd)
      return { ...NOT_RUN, broke: { code: 'out-of-budget' } }
    // Reserved now, because other trials may start before this one ends.
    this.#spentUsd += expectedUsd
    const trial = await this.#run(candidate, tape, 'served', liveFrom)
    this.#spentUsd += (trial.costUsd ?? expectedUsd) - expectedUsd
    return trial
  }

  /** Confirms once, before the first request is sent. */
  #confirm(estimate: Parameters<FixSettings['confirm']>[0]): Promise<void> {
    return (this.#confirmed ??= this.options.confirm(estimate))
  }

  async #run(
    candidate: FixCandidate | undefined,
    tape: Tape,
    effects: 'refused' | 'served',
    /** Serves the steps before this one and none after it. `unpinned`: serves no model. */
    liveFrom?: string,
  ): Promise<LiveTrial> {
    const copy = this.#copyOf(candidate)
    const root = copy.rootOf(tape)
    const inCopy = new Set(copy.files)
    const edited = new Set(candidate?.edits.map((edit) => path.normalize(edit.path)))
    const changed = changedFiles(tape, root).filter(
      (file) => inCopy.has(file.path) || edited.has(file.path),
    )
    const until = firstTouchOf(tape, changed)
    const runs = this.#toolsThatRun(candidate, tape)
    const rerun =
      liveFrom === 'unpinned'
        ? planUnpinned(tape)
        : liveFrom === undefined
          ? planRerun(tape, { effects, runs, ...(until !== undefined && { until }) })
          : planFork(tape, { at: liveFrom, effects: 'served' })
    const plan = { ...inFolder(rerun, path.join(this.folder, 'tapes')), isDiscarded: true, root }
    mkdirSync(path.join(this.folder, 'tapes'), { recursive: true })
    const startedMs = performance.now()
    try {
      const trial = await runTrial(tape, plan, { ...this.options, ...this.#confined(candidate) })
      const ranTools = runs.length === 0 ? 0 : countRan(trial.tape, runs)
      const live = Math.max(0, trial.live - ranTools - (trial.refused === undefined ? 0 : 1))
      const isUnpinned = liveFrom === 'unpinned'
      const replaced = live > 0 && !isUnpinned ? firstReplaced(tape, trial.tape, runs) : undefined
      const ms = Math.round(performance.now() - startedMs)
      const blocked = this.#blocked(trial.tape)
      if (blocked !== undefined)
        return { ...trial, verdict: 'undefined', reason: '', broke: blocked, ms, live }
      const served =
        trial.verdict === 'fail' && trial.difference === undefined && candidate !== undefined
          ? wrappedTools(tape).filter((name) => !runs.includes(name))
          : []
      const isPassing = trial.verdict === 'pass' && candidate !== undefined
      const branch = trial.tape === undefined ? undefined : openTape(trial.tape)
      const ran = branch && behaviourOf(branch)
      const behaviour = isPassing ? ran : undefined
      const notRun =
        candidate && editedTools(tape, candidate).filter((name) => !runs.includes(name))
      return {
        ...trial,
        ms,
        live,
        ...defined({
          liveFrom: isUnpinned ? liveFrom : replaced,
          notRun: notRun?.length === 0 ? undefined : notRun,
          servedTools: served.length === 0 ? undefined : served,
          output: behaviour && {
            stdout: clipText(behaviour.stdout, OUTPUT_MAX),
            end: behaviour.end,
          },
          losses: behaviour && lossesOf(this.#behaviourOf(tape), behaviour),
          progress:
            ran && progressOf(ran, stackSites(branch && viewRun(branch).exit?.error?.stack)[0]),
        }),
      }
    } catch (error) {
      const explained = explain(error)
      if (explained === undefined || this.options.signal.aborted || candidate === undefined)
        throw error
      return {
        ...NOT_RUN,
        broke: { code: 'not-started', what: explained.what, error: explained.code },
      }
    }
  }

  #behaviourOf(tape: Tape): RunBehaviour {
    const behaviour = this.#behaviours.get(tape) ?? behaviourOf(tape)
    this.#behaviours.set(tape, behaviour)
    return behaviour
  }

  get failedOutput(): TrialOutput {
    const { stdout, end } = this.#behaviourOf(this.options.tape)
    return { stdout: clipText(stdout, OUTPUT_MAX), end }
  }

  /** Why a trial says nothing: Node's permission model refused something that the program did. */
  #blocked(file: string | undefined): Breakage | undefined {
    if (this.#sandbox?.kind !== 'permissions' || file === undefined) return undefined
    const { error } = viewRun(openTape(file)).exit ?? {}
    if (error?.code !== 'ERR_ACCESS_DENIED') return undefined
    return { code: 'refused-by-node', message: error.message.split('\n')[0] ?? '' }
  }

  #confined(candidate: FixCandidate | undefined): Pick<LiveTrialOptions, 'rootOf' | 'sandbox'> {
    const copy = this.#copyOf(candidate)
    const isWritten = candidate?.author === 'model'
    if (isWritten && this.#sandbox === undefined && !this.options.allowsUnconfined)
      throw cliErrors.FIX_SANDBOX_MISSING(TrialSandbox.kindFor(this.options.tape).why ?? '')
    return { rootOf: copy.rootOf, sandbox: this.#sandbox?.launcher(copy) }
  }

  /** Edited tools run only without network, where they can do no harm, unless the user accepts it. */
  #toolsThatRun(candidate: FixCandidate | undefined, tape: Tape): string[] {
    const mayRun =
      this.#sandbox === undefined
        ? this.options.allowsUnconfined
        : this.#sandbox.kind !== 'permissions'
    return candidate === undefined || !mayRun ? [] : editedTools(tape, candidate)
  }

  #copyOf(candidate: FixCandidate | undefined): ProjectCopy {
    const key = candidate?.id ?? ''
    const known = this.#copies.get(key)
    const copy = known ?? new ProjectCopy(this.options.project, candidate?.edits ?? [])
    this.#copies.delete(key)
    this.#copies.set(key, copy)
    const oldest = [...this.#copies].find(([each]) => each !== '' && each !== key)
    if (this.#copies.size > COPIES_MAX && oldest !== undefined) {
      oldest[1].remove()
      this.#copies.delete(oldest[0])
    }
    return copy
  }

  /** Saves the tape of a run that passes with a candidate; undefined if there is none. */
  async save(
    candidate: FixCandidate,
    folder: string,
  ): Promise<{ readonly tape: string; readonly runs: readonly string[] } | undefined> {
    const { tape } = this.options
    // Trials of an earlier command have no tape.
    const trial = this.#passed.get(candidate.id) ?? (await this.#runOnce(candidate, tape))
    if (trial.verdict !== 'pass' || trial.tape === undefined || trial.tape === tape.path)
      return undefined
    const saved = path.join(folder, path.basename(trial.tape))
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    copyFileSync(trial.tape, saved)
    // A branch can only be read together with its ancestors.
    for (const [to, from] of tapeCopies(tape, path.join(folder, `${tape.run.id}.tape`)))
      copyFileSync(from, to)
    return { tape: saved, runs: this.#toolsThatRun(candidate, tape) }
  }

  close(): void {
    this.#sandbox?.close()
    for (const copy of this.#copies.values()) copy.remove()
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

/** Serves only steps other than model calls. Clocks and random values are new. */
function planUnpinned(tape: Tape): ContinuePlan {
  const { served, ...plan } = planRerun(tape, { effects: 'served', until: 1 })
  if (served === undefined) return plan
  const models = new Set(
    viewRun(tape).recordedSteps.flatMap(({ kind, label }) => (kind === 'model' ? [label] : [])),
  )
  const { draws: _draws, ...rest } = served
  return {
    ...plan,
    served: { ...rest, pinned: served.pinned.filter((label) => !models.has(label)) },
  }
}

const NOT_RUN = { verdict: 'undefined', reason: '', tokens: 0, live: 0, ms: 0, costUsd: 0 } as const

const CORPUS_RESULTS: Readonly<Record<CorpusStatus, CorpusResult['result']>> = {
  unchanged: 'identical',
  same: 'same-outcome',
  fixed: 'same-outcome',
  fails: 'breaks',
  undecided: 'not-checked',
  skipped: 'not-checked',
}

/** A stored trial, whose time and cost were already counted. */
const asStored = ({ costUsd: _costUsd, ...trial }: FixTrial): FixTrial => ({
  ...trial,
  ms: 0,
  isStored: true,
})

/** A candidate that hangs or crashes fails; for unchanged code, that proves nothing. */
function asFixTrial(trial: LiveTrial, candidate: FixCandidate | undefined): FixTrial {
  const { verdict, reason, tape, liveFrom, costUsd, live, refused, notRun, servedTools, ms } = trial
  const { output, losses, attempts, progress } = trial
  const isOwnFault =
    candidate !== undefined && (trial.broke?.code === 'timeout' || trial.broke?.code === 'crashed')
  const broke = trial.broke && breakageText(trial.broke)
  return {
    verdict: isOwnFault ? 'fail' : verdict,
    reason: reason || (broke ?? refused ?? ''),
    live,
    pinnedToChanged: trial.pinnedToChanged ?? 0,
    ms,
    ...defined({
      tape,
      liveFrom,
      costUsd,
      refused,
      notRun,
      servedTools,
      output,
      losses,
      attempts,
      progress,
      broke: isOwnFault ? undefined : broke,
    }),
  }
}

/** Characters of an output that a result contains. */
const OUTPUT_MAX = 4000

/** What a run did that others can see. */
function behaviourOf(tape: Tape): RunBehaviour {
  const { stdout, exitCode, signal, error } = readOutcome(tape)
  return {
    stdout,
    end:
      error === undefined
        ? signal === undefined
          ? `exit code ${exitCode ?? 'unknown'}`
          : signal
        : `${errorName(error)}: ${error.message.split('\n')[0]}`,
    isThrown: error !== undefined,
    actions: viewRun(tape)
      .recordedSteps.filter(({ kind }) => kind !== 'mark')
      .map((step) => {
        const request = step.kind === 'model' || step.kind === 'http' ? requestOf(step) : undefined
        const [method = '', url = ''] = request?.split(' ') ?? []
        return {
          label: step.label,
          kind:
            step.kind === 'http'
              ? `${method} ${url.split('?')[0]}`
              : `${step.kind} ${step.toolName ?? ''}`,
          title: step.title,
          sent: request ?? JSON.stringify(step.call()?.args) ?? '',
          isFailed: step.state === 'failed',
        }
      }),
  }
}

/**
 * Label of the first recorded step whose answer was replaced by a live one, because its request
 * changed or was repeated. Retrying a request that failed on the tape does not count.
 */
function firstReplaced(
  recorded: Tape,
  file: string | undefined,
  runs: readonly string[],
): string | undefined {
  if (file === undefined) return undefined
  const branch = openTape(file)
  const [before, now] = [viewRun(recorded), viewRun(branch)]
  const steps = before.recordedSteps.filter(({ kind }) => kind !== 'mark')
  const answered = new Set(
    steps
      .filter(({ state, error }) => state === 'done' && error === undefined)
      .map(({ label }) => label),
  )
  const live = now.recordedSteps.filter(
    (step) => originOf(branch, step) === 'live' && !runs.includes(step.toolName ?? ''),
  )
  const isLive = (label?: string): boolean => live.some((step) => step.label === label)
  const again = new Set(live.flatMap((step) => requestOf(step) ?? []))
  const changed = new Set(
    diffRuns(before, now, { only: ['messages', 'tools', 'requests'] }).steps.flatMap(
      ({ change, a, b }) => (change === 'removed' || isLive(b?.label) ? (a?.label ?? []) : []),
    ),
  )
  return steps.find(
    (step) =>
      answered.has(step.label) && (changed.has(step.label) || again.has(requestOf(step) ?? '')),
  )?.label
}

function countRan(file: string | undefined, runs: readonly string[]): number {
  if (file === undefined) return 0
  const branch = openTape(file)
  return viewRun(branch).recordedSteps.filter(
    (step) => runs.includes(step.toolName ?? '') && originOf(branch, step) === 'live',
  ).length
}

/** Names of the tools whose answers are on the tape. */
const wrappedTools = (tape: Tape): string[] => [
  ...new Set(
    viewRun(tape).recordedSteps.flatMap(({ kind, inferred, toolName }) =>
      kind === 'tool' && !inferred && toolName !== undefined ? [toolName] : [],
    ),
  ),
]

/** Wrapped tools whose code a candidate changes, directly or in a declaration they name. */
function editedTools(tape: Tape, { edits }: FixCandidate): string[] {
  return wrappedTools(tape).filter((name) =>
    edits.some(({ before = '', after }) =>
      [before, after].some((text, index) => {
        const body = toolBody(text, name)
        if (body === undefined) return false
        const other = toolBody(index === 0 ? after : before, name)
        return body !== other || changedNames(before, after).some((each) => body.includes(each))
      }),
    ),
  )
}

/** The text of the `tool` call with this name, up to the end of its arguments. */
function toolBody(text: string, name: string): string | undefined {
  const start = [`tool('${name}'`, `tool("${name}"`]
    .map((each) => text.indexOf(each))
    .find((at) => at >= 0)
  if (start === undefined) return undefined
  let depth = 0
  for (let at = start; at < text.length; at++) {
    if (text[at] === '(') depth++
    if (text[at] === ')' && --depth === 0) return text.slice(start, at + 1)
  }
  return text.slice(start)
}

/** Names of the declarations at the left margin that contain a changed line. */
function changedNames(before: string, after: string): string[] {
  const names = new Set<string>()
  let name: string | undefined
  for (const { kind, a, b } of diffLines(before, after)) {
    const text = (b ?? a)?.parts.map((part) => part.text).join('') ?? ''
    name = /^(?:export )?(?:async )?(?:function\*?|const|let|class) (\w+)/.exec(text)?.[1] ?? name
    if (kind !== 'same' && name !== undefined) names.add(name)
  }
  return [...names]
}

/** Equal for equal requests. */
function requestOf(step: Step): string | undefined {
  const request = step.exchange()?.request
  return request && `${request.method} ${request.url} ${request.text ?? ''}`
}
