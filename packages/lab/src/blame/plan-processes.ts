import { existsSync } from 'node:fs'
import path from 'node:path'
import { breakageText } from '../texts/breakage.js'
import type { PinnedPlan } from '@retake/engine'
import { childTapePath } from '@retake/engine/runs'
import { RetakeError } from '@retake/engine/errors'
import { searchableSteps } from '@retake/engine/plans'
import { defined, type Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { replayAgent } from '@retake/runner/agent'
import type { RecordedCode } from '@retake/runner/sources'
import { readOutcome } from '@retake/runner/oracle'
import { viewRun } from '@retake/runner/runs'
import { ambientPlan, findAmbientInputs, type FoundAmbient } from './ambient.js'
import { recordedAnswer } from './build-answer.js'
import { runFork } from './fork-run.js'
import { resultPlan } from './inferred-tools.js'
import {
  type DrawSites,
  inheritedVariables,
  type ModelSamples,
  processOf,
  type SearchedProcess,
  searchedSteps,
  type TreeStep,
} from './process-tree.js'

/** A fork of all processes of a run, with the labels of the search. */
export interface TreePlan extends Pick<
  PinnedPlan,
  'pinned' | 'mode' | 'answers' | 'requests' | 'seed' | 'simulator' | 'recordings' | 'liveTools'
> {
  /** Answers of models in an earlier run of this fork, by process prefix. */
  readonly samples?: ModelSamples
  /** Indexes of pinned ambient inputs. Missing: everything up to the first free step is served. */
  readonly ambient?: readonly number[]
}

export interface PlannedTree {
  readonly process: SearchedProcess
  readonly steps: readonly TreeStep[]
  readonly found: FoundAmbient
  /** Variables that differ from the recorded ones. */
  readonly env: Readonly<Record<string, string>>
}

/** The plan of one process, including the plans of processes that it starts. */
export function planProcess(tree: PlannedTree, plan: TreePlan): PinnedPlan {
  const { process, steps, found, env } = tree
  const { pinned, answers = {}, requests = {}, ambient, samples, ...common } = plan
  const said = samples?.[process.prefix]
  const own = steps.filter((step) => step.process === process)
  const isPinned = new Set(pinned)
  // Models see the pinned or given answers of unwrapped tools.
  const results = own
    .filter((step) => step.inferred)
    .flatMap((step) => {
      const { label } = step
      const answer = isPinned.has(label) ? recordedAnswer(process.tape, step) : answers[label]
      return answer === undefined ? [] : resultPlan(step, answer)
    })
  const recorded = own.filter((step) => !step.inferred)
  const byOwnLabel = <T>(values: Readonly<Record<string, T>>): Record<string, T> =>
    Object.fromEntries(
      recorded.flatMap(({ label, ownLabel }) => {
        const value = values[label]
        return value === undefined ? [] : [[ownLabel, value] as const]
      }),
    )
  const freed = new Set(Object.keys(env))
  for (const [index, { input }] of found.inputs.entries()) {
    if (input.kind !== 'environment') continue
    if (ambient?.includes(index) === false) freed.add(input.name)
    else freed.delete(input.name)
  }
  const children = [...process.children].map(([label, child]) => [
    label,
    {
      tape: path.resolve(child.tape.path),
      plan: planProcess({ ...tree, process: child }, plan),
      variables: inheritedVariables(child, freed),
    },
  ])
  const hasProcesses = process.children.size > 0 || process.prefix !== ''
  return {
    ...common,
    pinned: recorded.filter(({ label }) => isPinned.has(label)).map(({ ownLabel }) => ownLabel),
    answers: byOwnLabel(answers),
    ...(plan.requests && { requests: byOwnLabel(requests) }),
    ...(results.length > 0 && { results }),
    ...(said && { samples: said }),
    ...(ambient && { ambient: ambientPlan(found, ambient, process) }),
    ...(children.length > 0 && {
      children: Object.fromEntries(children) as NonNullable<PinnedPlan['children']>,
    }),
    ...(hasProcesses && steps.some(({ label }) => !isPinned.has(label)) && { isOpen: true }),
  }
}

const REPLAY_MS = 120_000

/**
 * A run with the recorded processes that it started. Replays each process, to check that it is the
 * recorded program and to see where it draws values. A process that cannot be replayed is one step.
 */
async function readTree(
  tape: Tape,
  code: RecordedCode | undefined,
  prefix = '',
): Promise<SearchedProcess> {
  const children = new Map<string, SearchedProcess>()
  const opaque: string[] = []
  for (const step of searchableSteps(tape)) {
    const file = childTapePath(tape.path, step.seq)
    if (step.kind !== 'process' || !existsSync(file)) continue
    const child = openTape(file)
    const found = await replayed(child, code)
    if (typeof found === 'string') {
      opaque.push(`${step.title}: ${found}`)
      continue
    }
    const read = await readTree(child, code, `${prefix}${step.label}:`)
    opaque.push(...read.opaque)
    // A process without steps is itself one step.
    if (searchedSteps(read).length > 0)
      children.set(step.label, { ...read, title: step.title, drawSites: found })
  }
  return { tape, prefix, children, opaque }
}

/** Where a process draws values, or the reason why it cannot be forked. */
async function replayed(tape: Tape, code: RecordedCode | undefined): Promise<DrawSites | string> {
  if (viewRun(tape).exit?.code === undefined) return 'it was killed'
  try {
    const options = { stdio: 'ignore', timeoutMs: REPLAY_MS, reportsDrawSites: true } as const
    const { divergences, drawSites = {}, signal } = await replayAgent(tape, { ...options, code })
    if (signal !== undefined) return `its replay was killed by ${signal}`
    return divergences[0] === undefined
      ? drawSites
      : `its replay differs, ${divergences[0].summary}`
  } catch (error) {
    if (error instanceof RetakeError) return error.what
    throw error
  }
}

/**
 * A run with the recorded processes that are searched with it. With everything pinned they must
 * reproduce the recorded outcome, so that a difference in a fork comes from what it freed.
 * Otherwise each process is one step.
 */
export async function readProcesses(
  tape: Tape,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
  code?: RecordedCode,
): Promise<SearchedProcess> {
  const tree = await readTree(tape, code)
  if (tree.children.size === 0) return tree
  const drawSites = await replayed(tape, code)
  // The search itself reports the problem.
  if (typeof drawSites === 'string') return { ...processOf(tape), opaque: tree.opaque }
  const process = { ...tree, drawSites }
  const steps = searchedSteps(process)
  const found = findAmbientInputs(process, steps, { drawSites, env })
  const plan = planProcess(
    { process, steps, found, env },
    {
      pinned: steps.map(({ label }) => label),
      mode: 'free',
      seed: 0,
      liveTools: [],
      ambient: [...found.inputs.keys()],
    },
  )
  const root = code?.root
  const job = {
    tape: path.resolve(tape.path),
    plan,
    timeoutMs: REPLAY_MS,
    env,
    ...defined({ root }),
  }
  const fork = await runFork(job, signal)
  fork.remove()
  const { outcome, broke } = fork
  const recorded = readOutcome(tape)
  if (
    broke === undefined &&
    outcome.stdout === recorded.stdout &&
    outcome.exitCode === recorded.exitCode
  )
    return process
  const why =
    broke === undefined
      ? 'with every answer pinned, the run printed something else'
      : breakageText(broke)
  return { ...processOf(tape), opaque: [...tree.opaque, why] }
}
