import { findingsPath, fixFolderOf, type RunStore, viewRun } from '@retake/runner/runs'
import { readFileSync } from 'node:fs'
import { checkIntact, refuseImported } from '@retake/engine/runs'
import { concurrentRefusals } from '../proof/operators/lifecycle.js'
import { detectSymptoms, type Symptom } from '../proof/symptoms.js'
import type { FixCandidate, FixContext } from '../proof/candidates.js'
import { continueFix } from '../proof/combine-fixes.js'
import { FixProof, type FixResult } from '../proof/prove-fixes.js'
import { proposeFixes } from '../proof/propose-fixes.js'
import { type BlameFindings, defined, type RunView, type Tape, attempt } from '@retake/tape'
import { locate } from '@retake/tape/locate'
import { openTape } from '@retake/tape/node'
import { changedSources, whyNotRunAgain, requireTrust } from '@retake/runner/agent'
import { RecordedCode } from '@retake/runner/sources'
import { type FindingsFile, writeFindings } from '../blame/findings.js'
import { processOf, searchedSteps } from '../blame/process-tree.js'
import { prepareSearch } from '../blame/read-search.js'
import { estimateLine, estimateSearch, judgeRecording, searchRun } from '../blame/search-run.js'
import { isSameAgent } from '../blame/siblings.js'
import { explain, offers } from '@retake/runner/command-line'
import { whyIncomplete, whyNotChecked } from '../compare/check-corpus.js'
import { project as configured } from '@retake/runner/config'
import { StoredTrials } from '../compare/live-trials.js'
import { cliErrors } from '@retake/runner/errors'
import { makeOracle, type Oracle, readOutcome, suggestOracle } from '@retake/runner/oracle'
import { fromHere } from '@retake/runner/terminal'
import type { FixAuthor, ModelReport } from './fix-author.js'
import { clusterKey } from './clusters.js'
import { bestFix } from './fix-card.js'
import { AgentProject } from './project-copy.js'
import { ProcessTrials } from './process-trials.js'
import { TrialSandbox } from './trial-sandbox.js'

export interface FixSettings {
  readonly oracle: Oracle | undefined
  readonly store: RunStore
  /** Passing tapes (default: those of the same agent in the run folder). */
  readonly corpus: readonly string[] | undefined
  /** Other failed runs that the fix must repair (default: those of the same cluster). */
  readonly siblings: readonly string[] | undefined
  /** Runs whose verdict must not change. */
  readonly opposites: readonly string[]
  /** Label of the step to repair. */
  readonly step: string | undefined
  /** Writes candidates with a model. If missing, only rules are used. */
  readonly author: FixAuthor | undefined
  readonly offline: boolean
  readonly locate: boolean
  readonly observeOnly: boolean
  readonly allowsUnconfined: boolean
  readonly maxForks: number | undefined
  readonly maxUsd: number | undefined
  readonly timeoutMs: number
  readonly jobs: number
  readonly fresh: boolean
  readonly env: Readonly<Record<string, string>>
  readonly nodeArgs: readonly string[]
  readonly signal: AbortSignal
  /** Saves the tape of a run with the best fix, for its regression test. */
  readonly savesTape: boolean
  /** Called before money is spent. Rejects if the user declines. */
  readonly confirm: (estimate: {
    readonly costUsd?: number
    readonly tokens: number
  }) => Promise<void>
  /** Called once if a trial has no sandbox but needs one. True if it may run without. */
  readonly confirmUnconfined: (why: string) => Promise<boolean>
  /** Like `confirm`, for the search for the cause. */
  readonly confirmSearch: FixSettings['confirm']
  readonly onProgress: (text: string) => void
  readonly onNote: (text: string) => void
}

/** Result of `retake fix`, as `--json` prints it and as it is stored for the viewer. */
export interface FixOutcome {
  readonly version: 1
  /** When the command ended, milliseconds since 1970. */
  readonly at: number
  readonly run: string
  readonly oracle: string
  readonly reason: string
  readonly result: FixResult
  readonly corpus: number
  readonly siblings: readonly string[]
  readonly opposites: readonly string[]
  readonly confined: boolean
  /** Why changed tools and code that a model wrote have no sandbox here; missing if they have one. */
  readonly noSandbox?: string
  /** Files that have changed since the run. Trials run today's code. */
  readonly changedSources?: readonly string[]
  /** Trials run by this command; the others are from an earlier one. */
  readonly newTrials: number
  /** A run with the best fix, and the tools that ran in it because their code changed. */
  readonly fixed?: { readonly tape: string; readonly runs: readonly string[] }
  readonly model?: ModelReport
  /** Labels of the steps that together caused the failure, if searched. */
  readonly causes?: readonly (readonly string[])[]
  /**
   * Forks of this command's search for the cause, and their known cost. `isStopped`: a limit ended it
   * before it found a cause.
   */
  readonly search?: {
    readonly forks: number
    readonly costUsd?: number
    readonly isStopped?: boolean
  }
  /** Titles of candidates that were only listed, as requested. */
  readonly proposed?: readonly string[]
  readonly notes: readonly string[]
}

/** Corpora grow, and only the newest runs matter. */
const CORPUS_MAX = 100
const SIBLINGS_MAX = 10
/** Number of changes that are tried for what another change leaves. */
const FURTHER_MAX = 4
/** Limit for siblings named by the user or in the given cluster. Each costs two trials. */
const GIVEN_SIBLINGS_MAX = 50
/** Providers limit concurrent requests. */
const LIVE_JOBS_MAX = 4

/**
 * Goes from a failed run to proven fixes: detect, reproduce, locate, propose, prove, rank. Changes
 * no file of the project.
 */
export async function fixRun(tape: Tape, settings: FixSettings): Promise<FixOutcome> {
  const { signal, onProgress } = settings
  const startedMs = performance.now()
  const notes: string[] = []
  const note = (text: string): void => {
    notes.push(text)
    settings.onNote(text)
  }
  const folderOf = (name: string): string => fixFolderOf(tape.path, name, tape.run.id)
  refuseImported(tape)
  checkIntact(tape)
  const incomplete = whyIncomplete(tape)
  if (incomplete !== undefined) throw cliErrors.FIX_RUN_INCOMPLETE(tape.run.id, incomplete)
  const notForkable = whyNotRunAgain(tape)
  if (notForkable !== undefined) throw cliErrors.FIX_NOT_FORKABLE(tape.run.id, notForkable)
  requireTrust(tape)
  const { oracle, reason } = await judge(tape, settings)
  const passes: FixOutcome = {
    version: 1,
    at: Date.now(),
    run: tape.run.id,
    oracle: oracle.text,
    reason: reason.reason,
    result: PASSING,
    corpus: 0,
    siblings: [],
    opposites: [],
    confined: false,
    newTrials: 0,
    notes,
  }
  if (reason.verdict === 'pass') return passes
  const project = new AgentProject(tape)
  const sources = project.sources()
  if (sources.length === 0) throw cliErrors.FIX_NO_SOURCE(tape.run.id, fromHere(project.folder))
  const changed = changedSources(tape).map(fromHere)
  if (changed.length > 0)
    note(`changed since the recording: ${changed.join(', ')}; fixes are tried on today's code`)
  const others = await otherRuns(tape, oracle, settings)
  const corpus = (settings.corpus ?? others.passing).slice(0, CORPUS_MAX)
  const siblings =
    settings.siblings?.slice(0, GIVEN_SIBLINGS_MAX) ?? others.alike.slice(0, SIBLINGS_MAX)
  if (settings.siblings !== undefined && settings.siblings.length > siblings.length)
    note(`of ${settings.siblings.length} other failed runs, the first ${siblings.length} are tried`)
  const view = viewRun(tape)
  const error = view.exit?.error
  const earlier = corpus
    .slice(0, 10)
    .flatMap((file) => attempt(() => [viewRun(openTape(file))], []))
  const { runBudget: budget, checkResults = {} } = configured().fix
  const symptomsOf = (of: Tape, run: RunView): Symptom[] =>
    detectSymptoms(run, {
      earlier,
      trace: (text) => locate(of, run, text).occurrences,
      rules: Object.entries(checkResults).map(([tool, check]) => ({ tool, check })),
      ...defined({ budget, error: run.exit?.error }),
    })
  const symptoms = symptomsOf(tape, view)
  const suggestRule = await offers.suggestRule?.()
  let context: FixContext = {
    run: view,
    symptoms,
    sources,
    oracleReason: reason.reason,
    oracleText: oracle.text,
    earlier,
    ...(error && { error }),
    ...(suggestRule && {
      suggestRule: (step: string) => suggestRule(tape.path, step, corpus),
    }),
  }
  const propose = (): FixCandidate[] =>
    proposeFixes(context).filter(
      ({ steps }) => settings.step === undefined || steps.includes(settings.step),
    )
  // A fault may hide another one, which only the run without it shows.
  const proposeFurther = (candidate: FixCandidate, branch: Tape): FixCandidate[] => {
    const { error: _error, ...rest } = context
    const run = viewRun(branch)
    const edited = sources.map(({ path, text }) => ({
      path,
      text: candidate.edits.find((edit) => edit.path === path)?.after ?? text,
    }))
    const more = { run, symptoms: symptomsOf(branch, run), ...defined({ error: run.exit?.error }) }
    return proposeFixes({ ...rest, ...more, sources: edited })
      .slice(0, FURTHER_MAX)
      .map((each) => continueFix(candidate, each))
  }
  const mayGoLive = !settings.offline && !settings.observeOnly
  const judgesOutput = settings.oracle !== undefined && !/^(?:not:)*exit:/.test(oracle.text)
  const trials = new ProcessTrials({
    ...settings,
    tape,
    project,
    oracle,
    corpus,
    mayGoLive,
    judgesOutput,
    isTimed: concurrentRefusals(symptoms, view).length > 0,
    stored: new StoredTrials(folderOf('trials'), { fresh: settings.fresh }),
    proposeFurther,
  })
  const { kind, why } = TrialSandbox.kindFor(tape)
  if (why !== undefined && settings.allowsUnconfined)
    note(`fixes run without a sandbox, as --no-sandbox allows: ${why}`)
  else if (kind === 'bubblewrap' && settings.allowsUnconfined)
    note('with --no-sandbox, a request to an unknown address is tried without the sandbox')
  else if (kind === 'permissions') note(`trials are confined by Node's permission model: ${why}`)
  else if (kind === undefined) note(`without a sandbox: ${why}`)
  try {
    const proof = new FixProof(context, trials, {
      siblings,
      opposites: settings.opposites,
      isOracleGiven: judgesOutput,
      signal,
      jobs: Math.min(settings.jobs, LIVE_JOBS_MAX),
      ...defined({ maxForks: settings.maxForks, maxUsd: settings.maxUsd }),
    })
    const known = new Set<string>()
    const prove = (candidates: readonly FixCandidate[]): Promise<void> => {
      const fresh = candidates.filter(({ id }) => !known.has(id))
      for (const { id } of fresh) known.add(id)
      return proof.prove(fresh)
    }
    const rules = propose()
    await prove(settings.observeOnly ? [] : rules)
    const { author } = settings
    // A failure due to chance has no cause and no fix, so rule that out before paying.
    if (mayGoLive) await proof.measureFlakiness()
    // Locating costs more than trying a rule, and one step needs no search.
    let search: FixOutcome['search']
    const isSearchable = settings.locate && mayGoLive && searchedSteps(processOf(tape)).length > 1
    if (isSearchable && /^(?:not-fixed|workaround)$/.test(proof.status)) {
      const located = await locateCause(tape, oracle, settings, note)
      if (located !== undefined) {
        search = located.search
        context = { ...context, findings: located.findings }
        proof.context = context
        await prove(propose())
      }
    }
    while (author?.canTry(proof.result) === true && !settings.observeOnly) {
      onProgress(`${author.name} writes a fix`)
      await prove(await author.write(tape, context, proof.result))
    }
    const { result } = proof
    const best = settings.savesTape ? bestFix(result) : undefined
    const fixed = best && (await trials.save(best.candidate, folderOf('fixed')))
    return {
      ...passes,
      at: Date.now(),
      result: {
        ...result,
        failedOutput: trials.failedOutput,
        ms: Math.round(performance.now() - startedMs),
      },
      ...(fixed && { fixed }),
      corpus: corpus.length,
      siblings,
      opposites: settings.opposites,
      confined: trials.isConfined,
      ...(why !== undefined && { noSandbox: why }),
      newTrials: trials.runs,
      ...(changed.length > 0 && { changedSources: changed }),
      ...(author && { model: author.report }),
      ...(context.findings && { causes: context.findings.causes.map(({ steps }) => steps) }),
      ...(search && { search }),
      ...(settings.observeOnly && { proposed: rules.map(({ title }) => title) }),
    }
  } finally {
    trials.close()
  }
}

const PASSING: FixResult = {
  status: 'passing',
  reason: 'The run passes.',
  reproduced: { trials: 0, failed: 0 },
  symptoms: [],
  fixes: [],
  tried: 0,
  forks: 0,
  ms: 0,
}

/** The given oracle, or one for the error that ended the run. Symptoms are not failures. */
async function judge(tape: Tape, { oracle: given, signal }: FixSettings) {
  const suggested = given === undefined ? suggestOracle(tape, []) : undefined
  if (given === undefined && suggested === undefined) throw cliErrors.FIX_NO_FAILURE(tape.run.id)
  const oracle = given ?? (await makeOracle(suggested?.oracle ?? 'exit:0', { recorded: tape }))
  const reason = await oracle(readOutcome(tape), signal)
  if (reason.verdict === 'undefined') throw cliErrors.FIX_NOT_JUDGED(tape.run.id, reason.reason)
  return { oracle, reason }
}

/** Runs of the same agent in the run folder: passing runs, and failures of the same cluster. */
async function otherRuns(
  tape: Tape,
  oracle: Oracle,
  { store, signal, corpus, siblings }: FixSettings,
): Promise<{ readonly passing: string[]; readonly alike: string[] }> {
  const passing: string[] = []
  const alike: string[] = []
  // Every verdict of a judge costs money.
  if (/^(not:\s*)*judge:/.test(oracle.text) || (corpus && siblings)) return { passing, alike }
  const key = clusterKey(tape, (await oracle(readOutcome(tape), signal)).reason)
  for (const id of store.ids().slice(0, 3 * CORPUS_MAX)) {
    const other = attempt(() => openTape(store.pathOf(id)))
    if (other === undefined || id === tape.run.id || other.run.parent !== undefined) continue
    if (!isSameAgent(tape, other) || whyNotChecked(other) !== undefined) continue
    const { verdict, reason } = await oracle(readOutcome(other), signal)
    if (verdict === 'pass') passing.push(other.path)
    else if (verdict === 'fail' && clusterKey(other, reason) === key) alike.push(other.path)
  }
  return { passing, alike }
}

/**
 * Cause sets of an earlier `retake blame` of this run with the same oracle, or of a new search.
 * Skips the search if keys are missing, because rules work without it.
 */
async function locateCause(
  tape: Tape,
  oracle: Oracle,
  settings: FixSettings,
  note: (text: string) => void,
): Promise<
  { readonly findings: BlameFindings; readonly search?: FixOutcome['search'] } | undefined
> {
  const known = attempt(
    () => JSON.parse(readFileSync(findingsPath(tape.path, tape.run.id), 'utf8')) as FindingsFile,
  )
  // A search that a limit stopped would continue, so its findings are not reused.
  const isFinished = known !== undefined && known.findings.verdict !== 'stopped'
  if (isFinished && known.oracle === oracle.text) return { findings: known.findings }
  const { signal, onProgress, maxForks, maxUsd } = settings
  try {
    using code = RecordedCode.ofChanged(tape)
    const search = await prepareSearch(
      tape,
      {
        oracle,
        code,
        env: settings.env,
        runs: settings.store,
        timeoutMs: settings.timeoutMs,
        jobs: settings.jobs,
        maxForks: maxForks === undefined ? undefined : Math.floor(maxForks / 2),
        maxUsd: maxUsd === undefined ? undefined : maxUsd / 2,
      },
      signal,
    )
    if ((await judgeRecording(search, signal)).verdict === 'pass') return undefined
    const estimate = estimateSearch(search)
    note(`locating the cause: ${estimateLine(estimate, search)}`)
    await settings.confirmSearch({
      tokens: estimate.tokens.most,
      ...(estimate.costUsd && { costUsd: estimate.costUsd.most }),
    })
    const found = await searchRun({
      ...search,
      onProgress: ({ forks, remaining }) =>
        onProgress(`locating the cause: ${forks} forks, about ${remaining} more`),
    })
    signal.throwIfAborted()
    const { newForks, spentUsd } = found.facts
    const { verdict, causes } = found.findings
    const isStopped = verdict === 'stopped' && causes.length === 0
    if (!isStopped) writeFindings(tape.path, found)
    const isPriced = found.findings.forks.costUsd !== undefined
    return {
      findings: found.findings,
      search: {
        forks: newForks,
        ...(isPriced && defined({ costUsd: spentUsd })),
        ...(isStopped && { isStopped }),
      },
    }
  } catch (error) {
    const explained = explain(error)
    if (explained === undefined || signal.aborted) throw error
    note(`the cause was not located: ${explained.what} (${explained.code})`)
    return undefined
  }
}
