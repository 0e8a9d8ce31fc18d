import {
  type BlameOptions,
  type BlameProgress,
  blameRun,
  blameSpans,
  classicView,
  type ClassicView,
  stepPrior,
} from '@retake/diagnose'
import { searchableSteps } from '@retake/engine'
import type { BlameFindings, SpanFindings, Step, Tape } from '@retake/tape'
import { sourceFiles } from '../agent/changed-sources.js'
import { cliErrors } from '../errors.js'
import { hashOfCode } from '../agent/hash-of-code.js'
import type { Oracle } from '../oracle/oracle.js'
import { viewRun } from '../runs/view-run.js'
import { checkOracle } from './check-oracle.js'
import type { FindingsFile, SearchedStep } from './findings-file.js'
import { type ForkPool, ProcessForks, questionOf, StoredForks } from './process-forks.js'
import type { Interventions } from './interventions/plan-interventions.js'
import path from 'node:path'

const READS = /\.(readFile|read|readv)(Sync)?$/
const WRITES = /\.(writeFile|appendFile|write|writev|copyFile|cp|rename)(Sync)?$/

/** Files that a run read or wrote by itself, absolute. What its child processes did is not known. */
function filesOnTape(tape: Tape): {
  readonly read: ReadonlySet<string>
  readonly written: ReadonlySet<string>
} {
  const { cwd = '.' } = tape.details
  const read = new Set<string>()
  const written = new Set<string>()
  for (const event of tape.events()) {
    if (event.type !== 'call' || event.kind !== 'file' || event.title === undefined) continue
    // Options follow the path.
    const names = event.title.replace(/ \[.*\]$/s, '').split(' → ')
    const files = READS.test(event.name) ? read : WRITES.test(event.name) ? written : undefined
    for (const name of names) files?.add(path.resolve(cwd, name))
  }
  return { read, written }
}

/** Oracles that look at no file. */
const LOOKS_AT_OUTPUT = /^(not:\s*)*(exit|stdout|json|judge):/

/**
 * Where a run seems to fail whatever is kept, its oracle may have looked at the files of the
 * recorded run each time: forks leave the disk as it is.
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

/** A search for the causes of a failed run, with all that it depends on. */
export interface Search {
  readonly tape: Tape
  readonly steps: readonly Step[]
  readonly oracle: Oracle
  /** How free steps are answered, as it was given, and what that comes to. */
  readonly free: readonly string[]
  readonly interventions: Interventions
  readonly env: Readonly<Record<string, string>>
  readonly seed: number
  readonly pool: ForkPool
  readonly maxForks: number
  readonly maxUsd?: number
  readonly timeoutMs: number
  readonly errorRate?: number
  /** Also asks about one step at a time, for comparison. */
  readonly classic?: boolean
  /** Also asks which words of what this model step was asked mattered. */
  readonly spansOf?: Step
  readonly keepIn?: string
  readonly signal: AbortSignal
  readonly onProgress?: (progress: BlameProgress) => void
  readonly onPause?: (ms: number) => void
}

/** The steps of a run that can be held or made free, with their costs. */
export function searchedSteps(tape: Tape): Step[] {
  const labels = new Set(searchableSteps(tape).map(({ label }) => label))
  return viewRun(tape).recordedSteps.filter(({ label }) => labels.has(label))
}

/** Finds which steps together made a run fail. What is known when it is stopped is the result. */
export async function searchRun(search: Search): Promise<FindingsFile> {
  const startedAt = performance.now()
  const { tape, steps, oracle, free, seed, maxForks, maxUsd } = search
  if (steps.length === 0) throw cliErrors.BLAME_NO_STEPS(tape.run.id)
  const question = questionFor(search)
  const stored = new StoredForks(tape.path, tape.run.id, question)
  const source = new ProcessForks({ ...search, ...search.interventions, stored })
  try {
    const findings = (await checkOracle(source, search)) ?? (await find(source, search))
    const { newForks, storedForks } = source
    const forks = { asked: newForks + storedForks, served: storedForks }
    const classic = search.classic ? await compare(source, search) : undefined
    const spans = search.spansOf && (await findSpans(source, search, search.spansOf))
    await source.settled()
    return {
      version: 1,
      run: tape.run.id,
      at: Date.now(),
      oracle: oracle.text,
      question,
      steps: steps.map(searchedStep),
      findings: {
        ...findings,
        notes: [
          ...findings.notes,
          ...filesNote(tape, oracle.text, findings),
          ...[oracle.agreement?.text ?? []].flat(),
        ],
        forks: { ...countsOf(findings, source), ...forks },
      },
      ...(classic && { classic }),
      ...(spans && { spans }),
      facts: {
        newForks: source.newForks,
        undefinedBy: source.undefinedBy,
        forcedAnswers: source.forced,
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

/** As they were measured. Where the cost of one fork is not known, that of all is not. */
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

/** Files that the run found and did not write itself: forks read them as they are now. */
function givenFiles(tape: Tape): string[] {
  const { read, written } = filesOnTape(tape)
  return [...read].filter((file) => !written.has(file))
}

/** Forks of another question say nothing about this one. */
const questionFor = (search: Search): string => {
  const { tape, steps, oracle, interventions, env, seed } = search
  const { answers, simulator = '', simulatorKey = '' } = interventions
  const labels = steps.map(({ label }) => label)
  const code = hashOfCode([...sourceFiles(tape), ...givenFiles(tape)])
  const { version } = process
  return questionOf([
    [oracle.key, labels, answers, simulator, simulatorKey],
    [env, seed, code, version],
  ])
}

const find = (source: ProcessForks, search: Search): Promise<BlameFindings> => {
  const { steps, maxForks, maxUsd, signal, seed, errorRate, onProgress } = search
  return blameRun(source, {
    labels: steps.map(({ label }) => label),
    prior: stepPrior(steps),
    maxForks,
    forksBefore: source.newForks,
    ...(maxUsd !== undefined && { maxUsd, forkUsd: costOfFork(search) }),
    signal,
    seed,
    ...(errorRate !== undefined && { errorRate }),
    ...(onProgress && { onProgress }),
  })
}

/** Within what is left of the budget. */
function compare(source: ProcessForks, search: Search): Promise<ClassicView> {
  const { steps, signal } = search
  const labels = steps.map(({ label }) => label)
  return classicView(source, { labels, ...limitsLeft(source, search), signal })
}

function limitsLeft(
  { newForks, spentUsd }: ProcessForks,
  search: Search,
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

/** About what it costs to ask everything again that is asked live. */
function costOfFork({ steps, interventions: { live, simulator } }: Search): number {
  if (simulator !== undefined) return 0
  const paid = steps.filter(({ label }) => live.includes(label))
  return paid.reduce((sum, { costUsd = 0 }) => sum + costUsd, 0)
}

/** Within what is left of the budget. All that follows the step is live. */
function findSpans(source: ProcessForks, search: Search, step: Step): Promise<SpanFindings> {
  const { signal, seed, onProgress } = search
  return blameSpans(
    step.exchange()?.request.json,
    (request, draw) => source.ask(step.label, request, draw),
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

const searchedStep = (step: Step): SearchedStep => ({
  label: step.label,
  kind: step.kind,
  name: nameOf(step),
  title: step.title,
})

function nameOf({ kind, toolName, model, title }: Step): string {
  if (kind === 'tool') return `tool ${toolName ?? title}`
  if (kind === 'model') return `model ${model ?? title}`
  return `${kind === 'http' ? 'request' : kind} ${title}`
}
