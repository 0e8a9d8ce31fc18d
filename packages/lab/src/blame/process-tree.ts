import { existsSync } from 'node:fs'
import type { PinnedPlan } from '@retake/engine'
import { childTapePath, containsSecret, isSurrounding } from '@retake/engine/runs'
import { searchableSteps } from '@retake/engine/plans'
import { environmentOnTape, type Step, type Tape, attempt } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { viewRun } from '@retake/runner/runs'
import { inferredTools } from './inferred-tools.js'

/** Where in the agent's code a value was drawn, by event. */
export type DrawSites = Readonly<Record<number, string>>

/** A run, or a process that it started and that is forked with it. */
export interface SearchedProcess {
  readonly tape: Tape
  /** Prefix of its labels: empty for the run itself, `3:` for the process that step 3 started. */
  readonly prefix: string
  readonly title?: string
  /** Where it draws values; missing for the run itself, which is replayed later. */
  readonly drawSites?: DrawSites
  /** By the label of the step that started them. */
  readonly children: ReadonlyMap<string, SearchedProcess>
  /** Why recorded processes count as one step. */
  readonly opaque: readonly string[]
}

/** A step of a search: its label is unique among all processes. */
export interface TreeStep extends Step {
  readonly process: SearchedProcess
  /** Its label on the tape of its process. */
  readonly ownLabel: string
}

/** The run without its processes: each of them is one step. */
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

export function tapesWithChildren(tape: Tape): Tape[] {
  const started = viewRun(tape).recordedSteps.filter(({ kind }) => kind === 'process')
  const files = started.map(({ seq }) => childTapePath(tape.path, seq)).filter(existsSync)
  return [tape, ...files.flatMap((file) => attempt(() => tapesWithChildren(openTape(file)), []))]
}

/** The steps of all processes that can be pinned or freed, with costs, in chronological order. */
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

/** A step under its label among all processes. */
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

/** Recorded variables that a process inherited from the run, without secrets and freed ones. */
export function inheritedVariables(
  { tape }: SearchedProcess,
  freed: ReadonlySet<string>,
): Record<string, string> {
  const found: Record<string, string> = {}
  for (const { name, value, isSecret } of environmentOnTape(tape).values())
    if (value !== null && isSecret !== true && !isSurrounding(name) && !freed.has(name))
      if (!containsSecret(name, value)) found[name] = value
  return found
}

/** Answers of models in one fork, by process prefix and call, in order. */
export type ModelSamples = Readonly<Record<string, NonNullable<PinnedPlan['samples']>>>
