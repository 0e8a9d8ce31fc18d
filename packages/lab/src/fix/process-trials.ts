import { type Breakage, breakageText } from '../texts/breakage.js'
import { inFolder, changedFiles, firstTouchOf, requireTrust } from '@retake/runner/agent'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type {
  CorpusResult,
  FixTrial,
  Form,
  Probe,
  TrialOutput,
  TrialSource,
} from '../proof/prove-fixes.js'
import { progressOf } from '../proof/combine-fixes.js'
import { emptyValues, lossesOf, type RunBehaviour } from '../proof/losses.js'
import { attemptsOf, missingVariables, namedVariables, useKey } from '../proof/attempts.js'
import { ALL_VARIABLES, type Attempt, type Use } from '../proof/uses.js'
import { stackSites } from '../proof/source-text.js'
import type { FixCandidate, SourceFile } from '../proof/candidates.js'
import type { ContinuePlan } from '@retake/engine'
import { planFork, planRerun } from '@retake/engine/plans'
import { diffRuns } from '@retake/tape/diff'
import {
  attempt,
  clipText,
  defined,
  environmentOnTape,
  errorName,
  hashText,
  namesOnTape,
  originOf,
  type Step,
  type Tape,
} from '@retake/tape'
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
import { makeOracle, type Oracle, readOutcome, type RunOutcome } from '@retake/runner/oracle'
import { viewRun } from '@retake/runner/runs'
import { tapeCopies } from '@retake/runner/tests'
import {
  type AnswerProbe,
  namesValue,
  substitution,
  type ValueProbe,
  wordPattern,
} from '../proof/probes.js'
import { clusterKey } from './clusters.js'
import type { FixSettings } from './fix-run.js'
import {
  changedFile,
  isCrash,
  isReadable,
  proposeProbes,
  proposeTapeForms,
  writeAnswerProbe,
  writeValueProbe,
} from './probe-tape.js'
import { type AgentProject, ProjectCopy } from './project-copy.js'
import { labEntry } from '../package-root.js'
import { modelVariables, type ModelVariables, PROVIDER_KEYS } from './model-variables.js'
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
  | 'confirmUnconfined'
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
type Variant = ValueProbe | AnswerProbe

/** Folder of variants of the run. */
const VARIANTS = 'variants'
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
  readonly #probes = new Map<string, Variant>()
  /** Tapes of probes; undefined if a value cannot be changed. */
  readonly #variants = new Map<string, Tape | undefined>()
  /** For each candidate, the last trial of this command with the failing run. */
  readonly #latest = new Map<string, LiveTrial>()
  /** For each candidate, a trial of this command in which the failing run passed. */
  readonly #passed = new Map<string, LiveTrial>()
  #confirmed: Promise<void> | undefined
  /** Settles to true if the user accepts trials without a sandbox. */
  #accepted: Promise<boolean> | undefined
  #isAccepted: boolean
  readonly #sources: readonly SourceFile[]
  /** Where models are, according to variables. */
  readonly #models: ModelVariables
  /** Candidates whose live trials the user allows to reach every address. */
  readonly #unconfined = new Set<string>()
  /** Uses of the unchanged code, in trials and on the tape; see `useKey`. */
  readonly #baseline: Set<string>
  #watched = 0
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
    this.#isAccepted = options.allowsUnconfined
    this.#sources = options.project.sources()
    this.#baseline = recordedReads(options.tape)
    const named = namedVariables(this.#sources.map(({ text }) => text).join('\n'))
    this.#models = modelVariables({ ...process.env, ...options.env }, named)
    if (kind !== undefined && !isUnconfined)
      this.#sandbox = new TrialSandbox(this.folder, kind, alike, {
        given: new Set(Object.keys(options.env)),
        named,
        models: this.#models,
      })
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
    return this.#sandbox !== undefined && this.#unconfined.size === 0
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
    const watched = this.#watch()
    const verdicts = await checkCorpus(corpus, {
      ...this.options,
      ...this.#confined(candidate),
      watch: watched.next,
      folder: this.folder,
      times: mayGoLive ? 1 : 0,
      liveTools: false,
      maxUsd: maxUsd === undefined ? undefined : maxUsd - this.#spentUsd,
      confirm: (estimate) => this.#confirm(estimate),
    })
    const attempts = this.#attemptsOf(
      candidate,
      corpus.map((each) => this.#open(each)),
      watched.uses(),
    )
    return verdicts.map(({ tape, status, reason, output, costUsd = 0 }, index) => {
      this.#spentUsd += costUsd
      // Without an oracle for it, nothing says that another output is as good.
      const isBroken = status === 'same' && output !== undefined && !this.options.judgesOutput
      const result = isBroken ? 'breaks' : CORPUS_RESULTS[status]
      const own = index === 0 ? attempts : undefined
      return { tape, result, reason, ...defined({ output, attempts: own }) }
    })
  }

  async further(candidate: FixCandidate): Promise<readonly FixCandidate[]> {
    const { tape, proposeFurther } = this.options
    // Trials of an earlier command have no tape.
    const trial = this.#latest.get(candidate.id) ?? (await this.#runOnce(candidate, tape))
    return trial.tape === undefined ? [] : proposeFurther(candidate, openTape(trial.tape))
  }

  probes(): Promise<readonly Probe[]> {
    const { tape, project, oracle, judgesOutput } = this.options
    const sources = project.sources()
    const probes = proposeProbes(tape, {
      sources,
      data: project.dataFiles(),
      oracle: oracle.text,
      judgesOutput,
    })
    for (const probe of probes) this.#probes.set(probe.id, probe)
    return Promise.resolve(probes)
  }

  forms(): Promise<readonly Form[]> {
    const { tape, project, oracle, judgesOutput } = this.options
    const forms = proposeTapeForms(tape, {
      sources: project.sources(),
      data: project.dataFiles(),
      oracle: oracle.text,
      judgesOutput,
    })
    for (const { recorded, form, others } of forms)
      for (const probe of [recorded, form, ...others.flatMap((each) => [each.recorded, each.form])])
        this.#probes.set(probe.id, probe)
    return Promise.resolve(forms)
  }

  async probe(candidate: FixCandidate | undefined, { id }: Probe): Promise<FixTrial> {
    const { oracle, stored, onProgress, tape } = this.options
    const probe = this.#probes.get(id)!
    onProgress(`${candidate?.title ?? 'the unchanged code'}: a variant of the run`)
    const key = [
      this.#projectKey,
      candidate?.id ?? '',
      tape.startDigest,
      tape.run.id,
      oracle.key,
      'probe',
      id,
    ]
    const known = stored.get(key)
    if (known !== undefined) return asStored(asFixTrial(known, candidate))
    // A right change may name a word that it has to know, such as the status of an order.
    const namesWord =
      candidate !== undefined &&
      probe.kind === 'values' &&
      probe.isWords &&
      namesValue(candidate, probe)
    const variant = namesWord ? undefined : this.#tapeOf(probe)
    // Not a fork, because nothing ran.
    if (variant === undefined) return asStored(asFixTrial(NOT_RUN, candidate))
    this.runs++
    const trial = await this.#runProbe(candidate, probe, variant)
    stored.add(key, trial)
    return asFixTrial(trial, candidate)
  }

  /** Undefined if some value cannot be changed. */
  #tapeOf(probe: Variant): Tape | undefined {
    const { tape } = this.options
    if (this.#variants.has(probe.id)) return this.#variants.get(probe.id)
    const folder = path.join(this.folder, VARIANTS, probe.id)
    mkdirSync(folder, { recursive: true })
    const variant = attempt(() =>
      probe.kind === 'values'
        ? writeValueProbe(tape, probe, folder)
        : writeAnswerProbe(tape, probe, folder),
    )
    this.#variants.set(probe.id, variant)
    return variant
  }

  async #runProbe(
    candidate: FixCandidate | undefined,
    probe: Variant,
    variant: Tape,
  ): Promise<LiveTrial> {
    const { oracle, project, tape } = this.options
    const data = project.dataFiles()
    // Files that differ from the tape would be read from the copy.
    const changed =
      probe.kind === 'answer'
        ? []
        : project
            .sources()
            .flatMap((file) =>
              data.has(file.path) ? changedFile(file.path, file.text, probe) : [],
            )
    const isEditedTwice = candidate?.edits.some((edit) =>
      changed.some((file) => file.path === path.normalize(edit.path)),
    )
    if (isEditedTwice === true) return NOT_RUN
    const edits = [...(candidate?.edits ?? []), ...changed]
    const changedCandidate: FixCandidate | undefined =
      changed.length === 0
        ? candidate
        : { ...(candidate ?? UNCHANGED), id: `${candidate?.id ?? ''} ${probe.id}`, edits }
    const oracleText = probe.kind === 'values' ? substitution(probe)(oracle.text) : oracle.text
    const isRewritten = oracleText !== oracle.text
    const judge = isRewritten ? await makeOracle(oracleText, { recorded: variant }) : oracle
    const trial = await this.#run(changedCandidate, variant, 'refused', { oracle: judge })
    const { verdict, refused, broke, tape: file } = trial
    const did =
      broke === undefined && trial.live === 0 && file !== undefined
        ? deedsOf(behaviourOf(openTape(file)), refused !== undefined)
        : undefined
    const saysNothing: LiveTrial = { ...trial, verdict: 'undefined', ...defined({ did }) }
    const isDecided = verdict !== 'undefined' && refused === undefined && broke === undefined
    if (!isDecided || trial.live > 0 || file === undefined) return saysNothing
    const ended = openTape(file)
    const named =
      probe.kind === 'values' && candidate !== undefined && namesValue(candidate, probe)
        ? valueIn(behaviourOf(ended), probe)
        : undefined
    if (named !== undefined) return { ...trial, verdict: 'fail', recordedValue: named }
    // Programs and models that judge may know the values of the recorded run.
    if (verdict === 'pass')
      return isReadable(oracle.text) ? { ...trial, ...defined({ did }) } : saysNothing
    const expected = probe.kind === 'values' ? variant : tape
    const isAsBefore =
      failsAlike(readOutcome(expected), readOutcome(ended), probe.kind) &&
      // A change moves lines, which are part of the key.
      (candidate !== undefined ||
        clusterKey(expected, trial.reason) === clusterKey(ended, trial.reason))
    if (isAsBefore) return { ...trial, ...defined({ did }) }
    return {
      ...saysNothing,
      ...(probe.kind === 'values' && { failsOtherwise: true as const }),
      ...(isCrash(readOutcome(ended).error) && { crashes: true as const }),
    }
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
    if (known !== undefined) {
      for (const use of known.uses ?? []) this.#baseline.add(use)
      return asStored(asFixTrial(known, candidate))
    }
    if (candidate?.author === 'model' && !(await this.#mayRun(candidate, tape)))
      return asFixTrial({ ...NOT_RUN, isUnconfined: true }, candidate)
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
    if (offline?.attempts !== undefined) return offline
    const { refusedAddress } = offline ?? {}
    if (candidate && refusedAddress !== undefined && this.#sandbox?.lacks(refusedAddress, tape)) {
      if (!this.options.allowsUnconfined) return { ...offline!, unknownAddress: refusedAddress }
      this.#unconfined.add(candidate.id)
    }
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
    const trial = await this.#run(candidate, tape, 'served', defined({ liveFrom }))
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
    {
      liveFrom,
      oracle = this.options.oracle,
    }: {
      /** Serves the steps before this one and none after it. `unpinned`: serves no model. */
      readonly liveFrom?: string
      readonly oracle?: Oracle
    } = {},
  ): Promise<LiveTrial> {
    const copy = this.#copyOf(candidate)
    const root = copy.rootOf(tape)
    const inCopy = new Set(copy.files)
    const edited = new Set(candidate?.edits.map((edit) => path.normalize(edit.path)))
    const changed = changedFiles(tape, root).filter(
      (file) => inCopy.has(file.path) || edited.has(file.path),
    )
    const until = firstTouchOf(tape, changed)
    if (candidate !== undefined) await this.#mayRun(candidate, tape)
    const runs = this.#toolsThatRun(candidate, tape)
    const rerun =
      liveFrom === 'unpinned'
        ? planUnpinned(tape)
        : liveFrom === undefined
          ? planRerun(tape, { effects, runs, ...(until !== undefined && { until }) })
          : planFork(tape, { at: liveFrom, effects: 'served' })
    const isolatesTools = runs.length > 0 && this.#sandbox?.kind === 'permissions'
    // A variant has the id of the run it was made from, so its branches are in another folder.
    const isVariant = tape.path.startsWith(path.join(this.folder, VARIANTS))
    const folder = isVariant ? path.dirname(tape.path) : path.join(this.folder, 'tapes')
    const plan = {
      ...inFolder(rerun, folder),
      isDiscarded: true,
      root,
      ...(isolatesTools && { live: { ...rerun.live, isolatesTools } }),
    }
    const watched = this.#watch()
    const facts = (needsKey = false): Pick<LiveTrial, 'attempts' | 'uses' | 'missingVariables'> =>
      this.#usesIn(candidate, tape, watched.uses(), needsKey)
    mkdirSync(folder, { recursive: true })
    const startedMs = performance.now()
    try {
      const trial = await runTrial(tape, plan, {
        ...this.options,
        oracle,
        ...this.#confined(candidate, effects === 'served'),
        watch: watched.next,
      })
      const ranTools = runs.length === 0 ? 0 : countRan(trial.tape, runs)
      const live = Math.max(0, trial.live - ranTools - (trial.refused === undefined ? 0 : 1))
      const isUnpinned = liveFrom === 'unpinned'
      const replaced = live > 0 && !isUnpinned ? firstReplaced(tape, trial.tape, runs) : undefined
      const ms = Math.round(performance.now() - startedMs)
      const blocked = trial.verdict === 'pass' ? undefined : this.#blocked(trial.tape)
      if (blocked !== undefined)
        return { ...trial, verdict: 'undefined', reason: '', broke: blocked, ms, live, ...facts() }
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
        // A program that got no answer and ended with another error may lack its key.
        ...facts(live === 0 && ran?.isThrown === true && ran.end !== this.#behaviourOf(tape).end),
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
        ...facts(),
        broke: { code: 'not-started', what: explained.what, error: explained.code },
      }
    }
  }

  /** Gives each process a file for what it uses, and reads all of them. */
  #watch(): { readonly next: () => string; readonly uses: () => Use[] } {
    const files: string[] = []
    return {
      next: () => {
        const file = path.join(this.folder, `uses-${++this.#watched}.jsonl`)
        files.push(file)
        return `${labEntry('watch-uses').href}?file=${encodeURIComponent(file)}`
      },
      uses: () =>
        files.flatMap((file) =>
          attempt(() => readFileSync(file, 'utf8'), '')
            .split('\n')
            .flatMap((line) => attempt(() => [JSON.parse(line) as Use], [])),
        ),
    }
  }

  #usesIn(
    candidate: FixCandidate | undefined,
    tape: Tape,
    uses: readonly Use[],
    needsKey: boolean,
  ): Pick<LiveTrial, 'attempts' | 'uses' | 'missingVariables'> {
    if (candidate === undefined) {
      const keys = [...new Set(uses.map(useKey))]
      for (const key of keys) this.#baseline.add(key)
      return { uses: keys }
    }
    const keys = uses.flatMap(({ code, what, isUnset }) =>
      needsKey && code === 'READ_VARIABLE' && isUnset === true && PROVIDER_KEYS.has(what)
        ? what
        : [],
    )
    const missing = [...new Set([...missingVariables(uses, this.#sources), ...keys])].filter(
      (name) => !this.#baseline.has(useKey({ code: 'READ_VARIABLE', what: name })),
    )
    return defined({
      attempts: this.#attemptsOf(candidate, [tape], uses),
      missingVariables: missing.length === 0 ? undefined : missing,
    })
  }

  #attemptsOf(
    candidate: FixCandidate,
    tapes: readonly Tape[],
    uses: readonly Use[],
  ): readonly Attempt[] | undefined {
    const { project, env, tape } = this.options
    const recorded = [tape, ...tapes]
    const values = [
      ...recorded.flatMap((each) =>
        [...environmentOnTape(each).values()].map(({ value }) => value),
      ),
      ...Object.values(env),
    ]
    const found = attemptsOf({
      uses,
      edits: candidate.edits,
      folders: [this.#copyOf(candidate).folder, project.recorded, project.folder],
      baseline: this.#baseline,
      knownText: [...this.#sources.map(({ text }) => text), ...values].join('\n'),
      hosts: new Set([
        ...recorded.flatMap(hostsOn),
        ...this.#models.endpoints.flatMap(({ host, port }) => [host, `${host}:${port}`]),
      ]),
    })
    return found.length === 0 ? undefined : found
  }

  /**
   * True if the changed code may run here. Asks once to run it without a sandbox, if there is none
   * and a model wrote it or it is the code of a tool.
   */
  async #mayRun(candidate: FixCandidate, tape: Tape): Promise<boolean> {
    if (this.#sandbox !== undefined || this.#isAccepted) return true
    if (candidate.author !== 'model' && editedTools(tape, candidate).length === 0) return true
    const { why = '' } = TrialSandbox.kindFor(this.options.tape)
    this.#isAccepted = await (this.#accepted ??= this.options.confirmUnconfined(why))
    return this.#isAccepted
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
    const tape = openTape(file)
    const inTools = [...tape.events()].flatMap((event) => {
      const call = event.type === 'result' ? tape.event(event.op) : undefined
      const isTool = call?.type === 'call' && call.kind === 'tool'
      return isTool && event.type === 'result' ? (event.error ?? []) : []
    })
    const error = [viewRun(tape).exit?.error, ...inTools].find(
      (each) => each?.code === 'ERR_ACCESS_DENIED',
    )
    return error && { code: 'refused-by-node', message: error.message.split('\n')[0] ?? '' }
  }

  #confined(
    candidate: FixCandidate | undefined,
    isLive = false,
  ): Pick<LiveTrialOptions, 'rootOf' | 'sandbox'> {
    const copy = this.#copyOf(candidate)
    const isWritten = candidate?.author === 'model'
    if (isWritten && this.#sandbox === undefined && !this.#isAccepted)
      throw cliErrors.FIX_SANDBOX_MISSING(TrialSandbox.kindFor(this.options.tape).why ?? '')
    const isOpen = isLive && candidate !== undefined && this.#unconfined.has(candidate.id)
    return { rootOf: copy.rootOf, sandbox: isOpen ? undefined : this.#sandbox?.launcher(copy) }
  }

  /**
   * Edited tools run only without network, where they can do no harm, unless the user accepts it.
   * Node's permission model confines files, processes, threads and add-ons; the engine refuses the
   * network.
   */
  #toolsThatRun(candidate: FixCandidate | undefined, tape: Tape): string[] {
    const mayRun = this.#sandbox !== undefined || this.#isAccepted
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

/** Stands for the unchanged code where only data files change. */
const UNCHANGED: FixCandidate = {
  id: '',
  operator: '',
  layer: 'code',
  title: 'the unchanged code',
  why: '',
  steps: [],
  edits: [],
  author: 'rule',
}

/** The first value of a probe that a run wrote or sent. A small number may also be a count. */
const valueIn = ({ stdout, end, actions }: RunBehaviour, { changes }: Probe): string | undefined =>
  changes.find(
    ({ from }) =>
      !/^\d{1,2}$/.test(from) &&
      [stdout, end, ...actions.map(({ sent }) => sent)].some(
        (text) => text.search(wordPattern([from])) >= 0,
      ),
  )?.from

/** True if two runs end alike and, if only values differ between their tapes, print the same. */
function failsAlike(before: RunOutcome, now: RunOutcome, kind: Variant['kind']): boolean {
  const message = ({ error }: RunOutcome): string | undefined => {
    const line = error?.message.split('\n')[0]
    // An error may quote the answer that was changed.
    return kind === 'values' ? line : line?.replaceAll(/"[^"]*"?|'.'|\d[\d.,'’_]*/g, '…')
  }
  return (
    before.error?.class === now.error?.class &&
    message(before) === message(now) &&
    before.exitCode === now.exitCode &&
    before.signal === now.signal &&
    (kind === 'answer' || before.stdout === now.stdout)
  )
}

/** What a run printed and sent. One that lacks an answer did not end by itself. */
const deedsOf = (ran: RunBehaviour, isRefused: boolean): NonNullable<FixTrial['did']> => {
  const texts = [ran.stdout, ...ran.actions.map(({ sent }) => sent)]
  return {
    digest: String(hashText(JSON.stringify([...texts, isRefused ? '' : ran.end]))),
    isThrown: ran.isThrown && !isRefused,
    isEmpty: texts.some((text) => emptyValues(text).length > 0),
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
  const { output, losses, attempts, isUnconfined, missingVariables, unknownAddress } = trial
  const { failsOtherwise, crashes, recordedValue, progress, did } = trial
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
      isUnconfined,
      missingVariables,
      unknownAddress,
      failsOtherwise,
      crashes,
      recordedValue,
      progress,
      did,
      broke: isOwnFault ? undefined : broke,
    }),
  }
}

/** Variables on a tape, as uses of the unchanged code. */
function recordedReads(tape: Tape): Set<string> {
  const names = [...environmentOnTape(tape).keys()]
  const listed = namesOnTape(tape) === undefined ? [] : [ALL_VARIABLES]
  return new Set([...names, ...listed].map((what) => useKey({ code: 'READ_VARIABLE', what })))
}

/** Addresses on a tape, with and without port. */
const hostsOn = (tape: Tape): string[] =>
  [...tape.events()].flatMap((event) => {
    if (event.type === 'call' && event.kind === 'dns') return [event.title ?? '']
    if (event.type === 'socket')
      return [event.path ?? '', event.host ?? '', `${event.host}:${event.port}`]
    if (event.type !== 'request' || !URL.canParse(event.url)) return []
    const { hostname, port, protocol } = new URL(event.url)
    const host = hostname.replace(/^\[(.*)\]$/, '$1')
    return [host, `${host}:${port || (protocol === 'http:' ? 80 : 443)}`]
  })

/** Characters of an output that a result contains. */
const OUTPUT_MAX = 4000

/** The effects of a run that others can see. */
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
