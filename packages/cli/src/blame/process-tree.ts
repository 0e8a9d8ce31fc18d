import { existsSync } from 'node:fs'
import type { PinnedPlan } from '@retake/engine'
import { childTapePath, containsSecret, isSurrounding } from '@retake/engine/runs'
import { searchableSteps } from '@retake/engine/plans'
import { environmentOnTape, type Step, type Tape, attempt } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { viewRun } from '../runs/view-run.js'
import { inferredTools } from './inferred-tools.js'

/** By event, where in the agent's code a value was drawn. */
export type DrawSites = Readonly<Record<number, string>>

/** A run, or a process that it started and that is forked with it. */
export interface SearchedProcess {
  readonly tape: Tape
  /** Begins its labels: empty for the run itself, `3:` for the process that step 3 started. */
  readonly prefix: string
  readonly title?: string
  /** Where it draws values; missing for the run itself, which is replayed later. */
  readonly drawSites?: DrawSites
  /** By label of the step that started it. */
  readonly children: ReadonlyMap<string, SearchedProcess>
  /** Processes that remain one step although they were recorded, with the reason. */
  readonly opaque: readonly string[]
}

/** A step of a search: its label is unique among all processes. */
export interface TreeStep extends Step {
  readonly process: SearchedProcess
  /** Its label on the tape of its process. */
  readonly ownLabel: string
}

/** The run alone: each process that it started is one step. */
export const processOf = (tape: Tape): SearchedProcess => ({
  tape,
  prefix: '',
  children: new Map(),
  opaque: [],
})

export const processesOf = (process: SearchedProcess): SearchedProcess[] => [
  process,
  ...[...process.children.values()].flatMap(processesOf),
]

export function tapesOf(tape: Tape): Tape[] {
  const started = viewRun(tape).recordedSteps.filter(({ kind }) => kind === 'process')
  const files = started.map(({ seq }) => childTapePath(tape.path, seq)).filter(existsSync)
  return [tape, ...files.flatMap((file) => attempt(() => tapesOf(openTape(file)), []))]
}

/** The steps of all processes that can be pinned or freed, with their costs, in the order of time. */
export function searchedSteps(process: SearchedProcess): TreeStep[] {
  const { tape, children } = process
  const view = viewRun(tape)
  const labels = new Set(
    [...searchableSteps(tape), ...inferredTools(view)].map(({ label }) => label),
  )
  const own = view.steps
    .filter(({ label }) => labels.has(label) && !children.has(label))
    .map((step) => inTree(step, process))
  const others = [...children.values()].flatMap(searchedSteps)
  if (others.length === 0) return own
  return [...own, ...others].toSorted((a, b) => a.startedAt - b.startedAt)
}

/** A step under the label that it has among all processes. */
function inTree(step: Step, process: SearchedProcess): TreeStep {
  const changed: Record<string | symbol, unknown> = {
    process,
    ownLabel: step.label,
    label: process.prefix + step.label,
  }
  return new Proxy(step, {
    get(target, key) {
      if (key in changed) return changed[key]
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
    has: (target, key) => key in changed || key in target,
  }) as TreeStep
}

/** Variables that a process got from the run's own environment, as recorded. Secrets are not on the tape. */
export function inheritedVariables(
  { tape }: SearchedProcess,
  changed: Readonly<Record<string, string>>,
): Record<string, string> {
  const found: Record<string, string> = {}
  for (const { name, value, isSecret } of environmentOnTape(tape).values())
    if (value !== null && isSecret !== true && !isSurrounding(name) && !(name in changed))
      if (!containsSecret(name, value)) found[name] = value
  return found
}

/** By prefix of the process and by call, answers of models in one fork, in order. */
export type ModelSamples = Readonly<Record<string, NonNullable<PinnedPlan['samples']>>>
