import path from 'node:path'
import { blameRun } from '../search/blame-run.js'
import type { BlameOptions, BlameProgress } from '../search/search.js'
import { blameSpans } from '../search/spans/blame-spans.js'
import { classicView } from '../search/classic-view.js'
import type { Coalition } from '../search/fork-source.js'
import { confidenceSequence } from '../search/stats.js'
import { stepPrior } from '../search/step-prior.js'
import { pathsOfCall } from '@retake/engine/plans'
import {
  type BlameFindings,
  clipText,
  defined,
  fileEffect,
  isRecord,
  messageText,
  type SpanFindings,
  type Step,
  type Tape,
  sumKnown,
} from '@retake/tape'
import { hashOfCode, sourceFiles } from '@retake/runner/agent'
import { cliErrors } from '@retake/runner/errors'
import { type Judgement, type Oracle, readOutcome } from '@retake/runner/oracle'
import { spentTokens } from '@retake/runner/runs'
import {
  classifyFailure,
  type FindingsFile,
  type SearchedStep,
  undecidedFindings,
} from './findings.js'
import { type LocalForkPool, ProcessForks, shortHash, StoredForks } from './forks.js'
import { effectName, hasEffects } from './effects.js'
import { changedVariables } from './ambient.js'
import { recordedAnswer } from './build-answer.js'
import { type FieldChange, fieldChanges, fieldText } from './fields.js'
import type { Interventions } from './interventions.js'
import { processesOf, type SearchedProcess, type TreeStep } from './process-tree.js'
import { findRace, nameRace, overlaps, raceFindings } from './race.js'
import type { RecordedCode } from '@retake/runner/sources'
import { callKeyOf } from './siblings.js'
import {
  cost,
  count,
  labelRanges,
  listText,
  namesCauses,
  plural,
  stepCountsText,
  stepsText,
} from '@retake/tape/present'

export type Estimate = ReturnType<typeof estimateSearch>

/**
 * Forks per query if the agent behaves the same each time, if no answer is live (so that one fork
 * may be enough), and if it is noisy: in nine of ten simulated runs, no more were needed.
 */
const STEADY = 2.2
const FIXED = 0.7
const NOISY = 12
/** Queries besides those for causes: anchors, and the audit at the end. */
const FIXED_PROBES = 2 + 9
/** Average share of live steps in a fork: probes pin prefixes, or single steps. */
const LIVE_LEAST = 0.3
const LIVE_MOST = 0.8

interface Range {
  readonly least: number
  readonly most: number
}

export function estimateSearch({ steps, interventions, maxForks }: BlameSearch) {
  const count = steps.length
  const inferred = steps.filter((step) => step.inferred).length
  const { simulator } = interventions
  const forCause = Math.ceil(Math.log2(Math.max(2, count))) + 1
  const echoes = Math.ceil(count / 7)
  // Assumes that a simulator answers every step.
  const live = steps.filter(
    ({ label }) => simulator === undefined && interventions.live.includes(label),
  )
  const each = live.length === 0 ? FIXED : STEADY
  const least = Math.ceil((forCause + echoes + FIXED_PROBES) * each)
  const most = Math.ceil((4 * forCause + 2 * echoes + FIXED_PROBES) * NOISY)
  const forks = { least: Math.min(least, maxForks), most: Math.min(most, maxForks) }
  const tokens = live.reduce((sum, step) => sum + spentTokens(step), 0)
  const costUsd = costOfSteps(live.filter(({ kind }) => kind === 'model'))
  const times = (each: number): Range => ({
    least: each * forks.least * LIVE_LEAST,
    most: each * forks.most * LIVE_MOST,
  })
  const whole = ({ least: low, most: high }: Range): Range => ({
    least: Math.round(low),
    most: Math.ceil(high),
  })
  const acting = live.filter(hasEffects).map(effectName)
  return {
    /** Like in the list of runs. Steps that the search cannot free do not count. */
    steps: count - inferred,
    inferred,
    /** From one cause of a deterministic agent to several of a noisy one. */
    forks,
    liveSteps: whole(times(live.length)),
    tokens: whole(times(tokens)),
    ...(costUsd !== undefined && { costUsd: times(costUsd) }),
    /** Steps with effects that really run, by name. */
    effects: Object.fromEntries(
      acting.map((name) => [name, whole(times(acting.filter((each) => each === name).length))]),
    ) as Readonly<Record<string, Range>>,
  }
}

/** The cost of one run of model steps. Steps of unknown cost, such as failed ones, cost the average. */
function costOfSteps(steps: readonly Step[]): number | undefined {
  const known = steps.flatMap(({ costUsd }) => costUsd ?? [])
  if (known.length === 0 && steps.length > 0) return undefined
  const sum = known.reduce((total, each) => total + each, 0)
  return steps.length === 0 ? 0 : (sum * steps.length) / known.length
}

export function estimateLine(
  estimate: Estimate,
  { maxForks, maxUsd }: Pick<BlameSearch, 'maxForks' | 'maxUsd'>,
): string {
  const { forks, liveSteps, tokens, costUsd } = estimate
  const budget = maxUsd === undefined ? '' : `, at most $${maxUsd}`
  return [
    `${stepCountsText(estimate)} to search`,
    `${rangeText(forks)} forks`,
    `${rangeText(liveSteps)} live steps`,
    `${rangeText(tokens)} tokens`,
    costUsd === undefined ? 'cost unknown' : rangeText(costUsd, cost),
    `at most ${plural(maxForks, 'fork')}${budget}`,
  ].join(' · ')
}

/** `30 to 120`, or one figure if both ends are equal. */
const rangeText = ({ least, most }: Range, text: (value: number) => string = count): string =>
  text(least) === text(most) ? text(most) : `${text(least)} to ${text(most)}`

/** Which effects forks will have, printed before the first fork. */
export function effectLines(
  { steps, interventions: { ways, liveTools } }: BlameSearch,
  { effects }: Estimate,
): string[] {
  const running = Object.entries(effects).map(
    ([name, times]) => `${name} will really run about ${rangeText(times)} times.`,
  )
  const unrun = steps.filter(
    (step) =>
      hasEffects(step) && ['pinned', 'sibling', 'recorded'].includes(ways[step.label]?.kind ?? ''),
  )
  if (unrun.length === 0 || liveTools === undefined) return running
  const names = [...new Set(unrun.map(effectName))]
  const shown = names.slice(0, NAMES_MAX).join(', ') + (names.length > NAMES_MAX ? ', …' : '')
  return [...running, `not run, answered from recordings: ${shown} (--live-tools runs them)`]
}

const NAMES_MAX = 6

/** How often the oracle judges the unchanged run first, and how often if it is inconsistent. */
const CHECKS = 4
const CHECKS_UNSTEADY = 20
/** An oracle that fails the unchanged run less often than this is flaky. */
const STEADY_PART = 0.8

/** The oracle's verdict on the recording itself. A run that passes needs no search. */
export async function judgeRecording(
  { tape, oracle }: Pick<BlameSearch, 'tape' | 'oracle'>,
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

/** Rejects an oracle with inconsistent verdicts on the unchanged run: it can blame no step. */
async function checkOracle(
  source: ProcessForks,
  { steps, maxForks, signal }: BlameSearch,
): Promise<BlameFindings | undefined> {
  if (maxForks <= 0) return undefined
  const all: Coalition = {
    pinned: steps.map((_, index) => index),
    mode: 'free',
    ambient: source.ambient.map((_, index) => index),
  }
  let fails = 0
  let passes = 0
  const most = Math.min(source.isDeterministic ? 1 : CHECKS_UNSTEADY, maxForks)
  for (let draw = 0; draw < most; draw++) {
    const fork = await source.fork(all, draw).catch((error: unknown) => {
      if (!signal.aborted) throw error
    })
    if (fork === undefined) return undefined
    const { outcome } = fork
    if (outcome === 'fail') fails += 1
    if (outcome === 'pass') passes += 1
    if (draw === CHECKS - 1 && passes === 0) return undefined
  }
  const forks = fails + passes
  if (passes === 0 || fails / forks >= STEADY_PART) return undefined
  const none = undecidedFindings(steps)
  const rate = { fails, forks, ...confidenceSequence(fails, forks) }
  const undefinedForks = most - forks
  const pinned = labelRanges(all.pinned, labelsOf(steps))
  return {
    ...none,
    verdict: 'flaky',
    why: `the oracle is inconsistent: it fails the unchanged run only ${fails} of ${forks} times`,
    anchors: { ...none.anchors, pinned: rate },
    evidence: [{ purpose: 'anchor', mode: 'free', pinned, rate, undefinedForks }],
    forks: { ...none.forks, asked: most, undefined: undefinedForks },
    notes: ['It judged the same output each time: make the oracle consistent first.'],
  }
}

/** Absolute paths that a run read or wrote itself. Excludes files of its child processes. */
function filesOnTape(tape: Tape) {
  const read = new Set<string>()
  const written = new Set<string>()
  for (const event of tape.events()) {
    if (event.type !== 'call' || event.kind !== 'file' || event.title === undefined) continue
    const effect = fileEffect(event.name)
    const files =
      effect === 'read' ? read : effect === 'write' || effect === 'copy' ? written : undefined
    for (const file of pathsOfCall(tape, event)) files?.add(file)
  }
  return { read, written }
}

/** Oracles that look at no file. */
const LOOKS_AT_OUTPUT = /^(not:\s*)*(exit|stdout|json|judge):/

/**
 * If a run seems to fail whatever is pinned, the oracle may have read the recorded run's files each
 * time, because forks do not change the disk.
 */
export function filesNote(
  tape: Tape,
  oracle: string,
  { verdict }: Pick<BlameFindings, 'verdict'>,
): string[] {
  if (verdict !== 'no attributable step' || LOOKS_AT_OUTPUT.test(oracle)) return []
  if (oracle.includes('RETAKE_FILES') || filesOnTape(tape).written.size === 0) return []
  return [
    'The agent writes files, and forks write theirs elsewhere: an oracle finds them in the folder RETAKE_FILES, see `retake docs oracles`.',
  ]
}

const ONE_FORK =
  'No answer is live and nothing else varies between forks, so one fork answers a question.'

/** An unrecorded process is one step; a thread is not searched. */
function childrenNote({ tape, process: run, steps }: BlameSearch): string[] {
  const processes = steps.filter(({ kind }) => kind === 'process').map(({ title }) => title)
  const threads = [...tape.events(1)].flatMap((event) =>
    event.type === 'call' && event.kind === 'worker' ? (event.title ?? event.name) : [],
  )
  const named = (titles: readonly string[]): string => clipText([...new Set(titles)].join(', '), 80)
  return [
    ...(processes.length === 0
      ? []
      : [
          `Each process that the run started is one step (${named(processes)}). Steps inside it are not searched${run.opaque.length > 0 ? '' : '; `retake record --children` records those of Node programs'}.`,
        ]),
    ...run.opaque.map((why) => `A recorded process is one step: ${clipText(why, 200)}.`),
    ...(threads.length === 0
      ? []
      : [`The run started threads (${named(threads)}). They are not searched.`]),
  ]
}

export interface BlameSearch {
  readonly tape: Tape
  readonly process: SearchedProcess
  readonly steps: readonly TreeStep[]
  readonly oracle: Oracle
  /** Why this oracle was chosen, if the user gave none. */
  readonly oracleWhy?: string
  /** How free steps are answered, as given; `interventions` is the result. */
  readonly free: readonly string[]
  readonly interventions: Interventions
  readonly env: Readonly<Record<string, string>>
  /** True if variables that are no longer set may be free (default: they are as recorded). */
  readonly freesUnset?: boolean
  readonly seed: number
  readonly pool: LocalForkPool
  readonly maxForks: number
  readonly maxUsd?: number
  readonly timeoutMs: number
  readonly errorRate?: number
  /** Also pins one step at a time, for comparison. */
  readonly classic?: boolean
  /** Also finds the decisive words in the request of this model step. */
  readonly spansOf?: Step
  readonly tapesFolder?: string
  /** Set if this code runs instead of today's. */
  readonly code?: RecordedCode
  readonly signal: AbortSignal
  readonly onProgress?: (progress: BlameProgress) => void
  readonly onPause?: (ms: number) => void
}

/**
 * Finds the steps that together made a run fail. Returns what is known when stopped. If no step
 * explains the failure, runs it without variables that are no longer set, then changes answers that
 * had no alternative, one field at a time, and repeats the search with what makes the run pass.
 */
export async function searchRun(search: BlameSearch): Promise<FindingsFile> {
  const startedAt = performance.now()
  const found = await searchFields(search, await searchUnset(search, await searchOnce(search)))
  const wallMs = Math.round(performance.now() - startedAt)
  return { ...found, facts: { ...found.facts, wallMs, maxForks: search.maxForks } }
}

/** True if the agent fails however it is run again, so that something else is worth a try. */
const failsAnyway = ({ findings: { verdict, anchors } }: FindingsFile): boolean =>
  verdict === 'no attributable step' && anchors.pinned.fails > 0

const UNSET_FORKS = 2

/**
 * Forks get the recorded values of variables that are no longer set. If the agent fails with them,
 * runs it without, and if that passes, searches again with these variables as inputs.
 */
async function searchUnset(search: BlameSearch, first: FindingsFile): Promise<FindingsFile> {
  const { process: run, env, signal } = search
  // Without the address of a service, an agent fails for another reason.
  const unset = changedVariables(run, env).filter(
    ({ now, recorded }) => now === undefined && !URL.canParse(recorded ?? ''),
  )
  if (unset.length === 0) return first
  const names = listText(unset.map(({ name }) => name))
  const isOne = unset.length === 1
  const recorded = `${names} ${isOne ? 'is' : 'are'} not set now, so forks got ${isOne ? 'its recorded value' : 'their recorded values'}.`
  if (!failsAnyway(first) || signal.aborted) return withNote(first, recorded)
  const without = { ...search, freesUnset: true }
  const nothing: Coalition = { pinned: [], mode: 'free', ambient: [] }
  const tried = await tryForks(without, first, (source) =>
    Promise.all(Array.from({ length: UNSET_FORKS }, (_, draw) => source.fork(nothing, draw))),
  )
  const before = withForksOf(first, tried)
  const outcomes = (tried.result ?? []).map(({ outcome }) => outcome)
  if (outcomes.includes('pass')) {
    const again = await searchOnce({ ...without, ...limitsAfter(search, before) })
    if (namesCauses(again.findings)) return afterForksOf(before, again)
  }
  const fails = outcomes.filter((outcome) => outcome === 'fail').length
  return withNote(
    before,
    fails === UNSET_FORKS
      ? `${recorded} Without ${isOne ? 'it' : 'them'}, the agent failed ${fails} of ${fails} times, too.`
      : recorded,
  )
}

/** Changes answers that had no alternative, one field at a time. */
async function searchFields(search: BlameSearch, first: FindingsFile): Promise<FindingsFile> {
  const changes = changesToTry(search, first)
  if (changes.length === 0) return first
  const tried = await tryForks(search, first, (source) =>
    firstPassing(source, search, changes, first),
  )
  const before = withForksOf(first, tried)
  const change = tried.result
  if (change === undefined) {
    const undecided = Object.values(tried.undefinedBy).reduce((sum, count) => sum + count, 0)
    const rest = undecided === 0 ? '' : `, ${undecided} of them without a verdict`
    const labels = [...new Set(changes.slice(0, tried.forks).map(({ label }) => label))]
    const answers = plural(tried.forks, 'changed answer')
    return withNote(
      before,
      `${answers} of ${stepsText(labels, search)}, each with another value in one field${rest}: none made it pass.`,
    )
  }
  const again = await searchOnce({
    ...search,
    interventions: withField(search, change),
    ...limitsAfter(search, before),
  })
  return namesCauses(again.findings) ? afterForksOf(before, again) : before
}

const withNote = (found: FindingsFile, note: string): FindingsFile => ({
  ...found,
  findings: { ...found.findings, notes: [...found.findings.notes, note] },
})

/** The rest of the limits of a search. */
function limitsAfter(
  { maxForks, maxUsd }: BlameSearch,
  { facts }: FindingsFile,
): Pick<BlameSearch, 'maxForks' | 'maxUsd'> {
  return {
    maxForks: Math.max(0, maxForks - facts.newForks),
    ...(maxUsd !== undefined && { maxUsd: Math.max(0, maxUsd - (facts.spentUsd ?? 0)) }),
  }
}

/** Findings that also count the forks that were tried after them. */
function withForksOf(found: FindingsFile, tried: TriedForks<unknown>): FindingsFile {
  const { findings, facts } = found
  const { forks } = findings
  return {
    ...found,
    findings: {
      ...findings,
      forks: {
        ...forks,
        asked: forks.asked + tried.forks,
        served: forks.served + tried.forks - tried.newForks,
        ...(forks.costUsd !== undefined && { costUsd: forks.costUsd + tried.costUsd }),
      },
    },
    facts: {
      ...facts,
      newForks: facts.newForks + tried.newForks,
      spentUsd: (facts.spentUsd ?? 0) + tried.costUsd,
      undefinedBy: addCounts(facts.undefinedBy, tried.undefinedBy),
      blocked: [...new Set([...(facts.blocked ?? []), ...tried.blocked])],
      assumed: addCounts(facts.assumed ?? {}, tried.assumed),
    },
  }
}

/** Findings of a second search that also count the forks before it. */
function afterForksOf(before: FindingsFile, again: FindingsFile): FindingsFile {
  const { facts } = before
  return {
    ...again,
    findings: {
      ...again.findings,
      forks: sumCounts(before.findings.forks, again.findings.forks),
    },
    facts: {
      ...again.facts,
      newForks: facts.newForks + again.facts.newForks,
      spentUsd: (facts.spentUsd ?? 0) + (again.facts.spentUsd ?? 0),
      undefinedBy: addCounts(facts.undefinedBy, again.facts.undefinedBy),
      blocked: [...new Set([...(facts.blocked ?? []), ...(again.facts.blocked ?? [])])],
      assumed: addCounts(facts.assumed ?? {}, again.facts.assumed ?? {}),
      forcedAnswers: facts.forcedAnswers + again.facts.forcedAnswers,
    },
  }
}

const CHANGES_MAX = 24

/**
 * Changed answers for steps that had no other alternative, or that answer the same each time: tools
 * and requests. The first change of each step comes before the second of any.
 */
function changesToTry({ steps, interventions }: BlameSearch, found: FindingsFile): FieldChange[] {
  if (!failsAnyway(found)) return []
  const { ways } = interventions
  const prior = stepPrior(steps)
  return steps
    .map((step, index) => ({ step, prior: prior[index] ?? 0 }))
    .filter(({ step: { label, inferred, kind } }) => {
      const way = ways[label]?.kind
      return way === 'pinned' || (way === 'live' && (inferred || kind === 'http'))
    })
    .flatMap(({ step, prior: likelihood }) => {
      const alike = steps.filter(
        (other) => other !== step && effectName(other) === effectName(step),
      )
      const others = alike.flatMap((other) => recordedAnswer(other.process.tape, other) ?? [])
      return fieldChanges(step.process.tape, step, others).map((change, turn) => ({
        change,
        turn,
        likelihood,
      }))
    })
    .toSorted((a, b) => a.turn - b.turn || b.likelihood - a.likelihood)
    .map(({ change }) => change)
    .slice(0, CHANGES_MAX)
}

/** Forks that ran outside a search. */
interface TriedForks<Result> {
  /** Undefined if the user stopped it. */
  readonly result: Result | undefined
  readonly forks: number
  readonly newForks: number
  readonly costUsd: number
  readonly undefinedBy: Readonly<Record<string, number>>
  readonly blocked: Iterable<string>
  readonly assumed: Readonly<Record<string, number>>
}

async function tryForks<Result>(
  search: BlameSearch,
  { facts }: FindingsFile,
  run: (source: ProcessForks) => Promise<Result>,
): Promise<TriedForks<Result>> {
  const { tape, signal, maxForks } = search
  const stored = new StoredForks(tape.path, tape.run.id, searchKeyOf(search))
  const source = await ProcessForks.open({ ...search, ...search.interventions, stored })
  let result: Result | undefined
  try {
    if (facts.newForks < maxForks && !signal.aborted) result = await run(source)
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    source.close()
    await source.settled()
  }
  const { newForks, storedForks, spentUsd: costUsd, undefinedBy, blocked, assumed } = source
  return { result, forks: newForks + storedForks, newForks, costUsd, undefinedBy, blocked, assumed }
}

/** Runs one fork per change, with everything before its step pinned, until one passes. */
async function firstPassing(
  source: ProcessForks,
  { signal, maxForks, onProgress }: BlameSearch,
  changes: readonly FieldChange[],
  { facts, findings }: FindingsFile,
): Promise<FieldChange | undefined> {
  const left = maxForks - facts.newForks
  const [probe] = findings.evidence
  for (let from = 0; from < changes.length; from += source.concurrency) {
    if (signal.aborted || source.newForks >= left) return undefined
    if (probe)
      onProgress?.({ forks: facts.newForks + from, remaining: changes.length - from, probe })
    const batch = changes.slice(from, from + source.concurrency)
    const forks = await Promise.all(
      batch.map(({ label, answer }) => source.forkAnswer(label, answer, 0)),
    )
    const passing = batch.find((_, index) => forks[index]?.outcome === 'pass')
    if (passing !== undefined) return passing
  }
  return undefined
}

function addCounts(
  some: Readonly<Record<string, number>>,
  more: Readonly<Record<string, number>>,
): Record<string, number> {
  const sum: Record<string, number> = { ...some }
  for (const [key, count] of Object.entries(more)) sum[key] = (sum[key] ?? 0) + count
  return sum
}

function withField({ steps, interventions }: BlameSearch, change: FieldChange): Interventions {
  const step = steps.find(({ label }) => label === change.label)
  const key = step && callKeyOf(step.process.tape, step)
  const { ways, recordings, answers } = interventions
  return {
    ...interventions,
    // Unwrapped tools, and tools of servers on pipes, are answered by label.
    ...((step?.inferred || key === undefined) && {
      answers: { ...answers, [change.label]: change.answer },
    }),
    recordings: { ...recordings, ...(key !== undefined && { [key]: [change.answer] }) },
    ways: { ...ways, [change.label]: { kind: 'field', how: `with ${fieldText(change)}` } },
  }
}

type ForkCounts = BlameFindings['forks']

const sumCounts = (first: ForkCounts, second: ForkCounts): ForkCounts => ({
  asked: first.asked + second.asked,
  served: first.served + second.served,
  undefined: first.undefined + second.undefined,
  liveSteps: first.liveSteps + second.liveSteps,
  ...defined({
    tokens: sumKnown([first.tokens, second.tokens]),
    costUsd: sumKnown([first.costUsd, second.costUsd]),
  }),
})

async function searchOnce(search: BlameSearch): Promise<FindingsFile> {
  const startedAt = performance.now()
  const { tape, steps, oracle, free, seed, maxForks, maxUsd, signal } = search
  if (steps.length === 0) throw cliErrors.BLAME_NO_STEPS(tape.run.id)
  const question = searchKeyOf(search)
  const stored = new StoredForks(tape.path, tape.run.id, question)
  const source = await ProcessForks.open({ ...search, ...search.interventions, stored })
  try {
    const findings = (await checkOracle(source, search)) ?? (await find(source, search))
    const { newForks, storedForks } = source
    const forks = { asked: newForks + storedForks, served: storedForks }
    const classic = search.classic
      ? await classicView(source, {
          labels: labelsOf(steps),
          ...limitsLeft(source, search),
          signal,
        })
      : undefined
    const spans = search.spansOf && (await findSpans(source, search, search.spansOf))
    await source.settled()
    const causes = findings.causes.map((cause) => source.detailOf(cause.steps))
    source.discardTapes(
      causes.flatMap(({ failingFork = [], passingFork = [] }) => [failingFork, passingFork].flat()),
    )
    const { reason } = await oracle(readOutcome(tape), signal)
    return {
      version: 1,
      run: tape.run.id,
      at: Date.now(),
      oracle: oracle.text,
      reason,
      question,
      failureClass: classifyFailure(
        findings,
        (label) => steps.find((step) => step.label === label)?.kind,
        causes,
      ),
      causes,
      steps: steps.map((step) => searchedStep(step, search)),
      findings: {
        ...findings,
        notes: [
          ...findings.notes,
          ...filesNote(tape, oracle.text, findings),
          ...childrenNote(search),
          ...(search.code === undefined || !overlaps(search) ? [] : [ORDERS_NOT_TRIED]),
          ...(source.isDeterministic ? [ONE_FORK] : []),
          ...(source.sampled === 0
            ? []
            : [
                `${plural(source.sampled, 'answer')} of models came from the same fork of an earlier search. Use another --seed to send new requests.`,
              ]),
          ...[oracle.agreement?.text ?? []].flat(),
        ],
        forks: { ...countsOf(findings, source), ...forks },
      },
      ...(classic && { classic }),
      ...(spans && { spans }),
      facts: {
        newForks: source.newForks,
        spentUsd: source.spentUsd,
        undefinedBy: source.undefinedBy,
        blocked: [...source.blocked],
        forcedAnswers: source.forced,
        assumed: source.assumed,
        wallMs: Math.round(performance.now() - startedAt),
        free,
        maxForks,
        ...(maxUsd !== undefined && { maxUsd }),
        seed,
      },
    }
  } finally {
    source.close()
    await source.settled()
  }
}

const ORDERS_NOT_TRIED =
  'Other orders of its answers were not tried, because the code has changed since this run.'

/** If the cost of one fork is unknown, so is the total. */
function countsOf({ forks }: BlameFindings, source: ProcessForks): BlameFindings['forks'] {
  const { costUsd: known, ...counts } = forks
  const { liveSteps, costUsd } = source
  return {
    ...counts,
    liveSteps,
    ...(counts.tokens !== undefined && { tokens: source.tokens }),
    ...(known !== undefined && source.isCostKnown && { costUsd }),
  }
}

const labelsOf = (steps: readonly Step[]): string[] => steps.map(({ label }) => label)

/** Identifies everything that forks depend on: forks of another search are not comparable. */
const searchKeyOf = (search: BlameSearch): string => {
  const { process: run, steps, oracle, interventions, env, seed, freesUnset = false } = search
  const { answers, recordings, liveTools, simulator = '', simulatorKey = '' } = interventions
  // Files that the run read but did not write: forks read them as they are now.
  const tapes = processesOf(run).map(({ tape }) => tape)
  const files = tapes.map(filesOnTape)
  const given = files
    .flatMap(({ read }) => [...read])
    .filter((file) => !files.some(({ written }) => written.has(file)))
  const code = hashOfCode([...tapes.flatMap(sourceFiles), ...given], search.code)
  const variables = changedVariables(run, env).map(({ name, now = null }) => [name, now])
  return shortHash([
    [oracle.key, labelsOf(steps), answers, recordings, liveTools, simulator, simulatorKey],
    [env, seed, code, process.version, variables, freesUnset],
  ])
}

async function find(source: ProcessForks, search: BlameSearch): Promise<BlameFindings> {
  const { steps, maxForks, maxUsd, signal, seed, errorRate, onProgress } = search
  // If another order of the same answers passes, that explains the failure.
  const order = await findRace(search)
  if (order !== undefined) return raceFindings(search, order, source.ambient)
  const findings = await blameRun(source, {
    labels: labelsOf(steps),
    interventions: steps.map(({ label }) => search.interventions.ways[label]?.kind ?? 'live'),
    prior: stepPrior(steps),
    maxForks,
    forksBefore: source.newForks,
    ...(maxUsd !== undefined && { maxUsd, forkUsd: costOfFork(search) }),
    signal,
    seed,
    ...defined({ errorRate, onProgress }),
  })
  const race = findings.verdict === 'race' ? await nameRace(search) : undefined
  return race === undefined ? findings : { ...findings, race }
}

function limitsLeft(
  { newForks, spentUsd }: ProcessForks,
  search: BlameSearch,
): Pick<BlameOptions, 'maxForks' | 'maxUsd' | 'forkUsd'> {
  const { maxForks, maxUsd } = search
  return {
    maxForks: Math.max(0, maxForks - newForks),
    ...(maxUsd !== undefined && {
      maxUsd: Math.max(0, maxUsd - spentUsd),
      forkUsd: costOfFork(search),
    }),
  }
}

function costOfFork({ steps, interventions: { live, simulator } }: BlameSearch): number {
  if (simulator !== undefined) return 0
  const paid = steps.filter(({ label }) => live.includes(label))
  return paid.reduce((sum, { costUsd = 0 }) => sum + costUsd, 0)
}

/** Uses the rest of the budget. Everything after the step is live. */
function findSpans(source: ProcessForks, search: BlameSearch, step: Step): Promise<SpanFindings> {
  const { signal, seed, onProgress } = search
  return blameSpans(
    step.exchange()?.request.json,
    (request, draw) => source.forkRequest(step.label, request, draw),
    {
      step: step.label,
      concurrency: source.concurrency,
      ...limitsLeft(source, search),
      signal,
      seed,
      ...(onProgress && { onProgress }),
    },
  )
}

function searchedStep(step: TreeStep, { interventions }: BlameSearch): SearchedStep {
  const { label, kind, title, site, toolName, model, process, ownLabel } = step
  const { tape, prefix } = process
  const program = path.basename(tape.details.entry ?? tape.run.name)
  const what = kind === 'http' ? 'request' : kind
  return {
    label,
    kind,
    name: `${what} ${(kind === 'tool' ? toolName : kind === 'model' ? model : undefined) ?? title}`,
    title,
    // Names the process, unless it is the run itself.
    did: prefix === '' ? didText(step) : `step ${ownLabel} of ${program}: ${didText(step)}`,
    ...defined({
      site,
      isInferred: step.inferred || undefined,
      process: process.title,
      tool: toolName,
      arguments: step.call()?.args,
      free: interventions.ways[label]?.how,
    }),
  }
}

const DID_MAX = 70

function didText(step: Step): string {
  const { kind, toolCalls, toolName, title } = step
  if (kind === 'tool') return clipText(calledText(toolName ?? title, step.call()?.args), DID_MAX)
  if (kind !== 'model') return clipText(title, DID_MAX)
  const [first, ...more] = toolCalls
  if (first !== undefined) {
    const others = more.length === 0 ? '' : ` and ${plural(more.length, 'other tool')}`
    return `the model called ${clipText(calledText(first.name, first.args), DID_MAX)}${others}`
  }
  const text = step.answer().map(messageText).join(' ').replaceAll(/\s+/g, ' ').trim()
  return text === ''
    ? 'the model answered'
    : `the model said ${JSON.stringify(clipText(text, DID_MAX))}`
}

/** `get_order with id 1128`. */
function calledText(name: string, args: unknown): string {
  const [only] = Array.isArray(args) && args.length === 1 ? (args as unknown[]) : [args]
  if (!isRecord(only)) return only === undefined ? name : `${name} with ${JSON.stringify(only)}`
  const fields = Object.entries(only).map(([key, value]) => `${key} ${JSON.stringify(value)}`)
  return fields.length === 0 ? name : `${name} with ${fields.join(', ')}`
}
