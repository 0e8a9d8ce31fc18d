import { findingsPath } from '@retake/runner/runs'
import { createHash } from 'node:crypto'
import {
  type BlameFindings,
  messageText,
  type SpanFindings,
  stableStringify,
  type Step,
  type StepIntervention,
  type StepKind,
} from '@retake/tape'
import type { StepDescription } from './fork-run.js'
import { inferredResult } from './inferred-tools.js'
import { plainValue } from '@retake/runner/terminal'
import { replacePrivateFile } from '@retake/tape/node'
import type { ClassicView } from '../search/classic-view.js'

/** Findings of the last search of a run, stored beside the runs. */
export interface FindingsFile {
  readonly version: 1
  readonly run: string
  /** When the search ended, milliseconds since 1970. */
  readonly at: number
  /** The oracle, as given. */
  readonly oracle: string
  /** Hash of the search: oracle, interventions, seed. */
  readonly question: string
  /** The searched steps; `findings.steps[i]` is about `steps[i]`. */
  readonly steps: readonly SearchedStep[]
  readonly findings: BlameFindings
  /** Why the oracle fails the recorded run. */
  readonly reason?: string
  readonly failureClass: FailureClass
  /** For each of `findings.causes`, the values of its steps, and forks that show it. */
  readonly causes: readonly CauseDetail[]
  /** Results of pinning one step at a time, if requested. */
  readonly classic?: ClassicView
  /** Decisive words of a model request, if requested. */
  readonly spans?: SpanFindings
  readonly facts: SearchFacts
}

/**
 * Kind of failure, for programs. `wrong argument`: a model called the right tool with wrong
 * arguments. `wrong decision`: it did or said something else. `wrong data`, `missing data`: a tool,
 * request or process answered wrongly, or not at all. `prompt or code`: no step explains it.
 * `unknown`: the search shows at most that the failure depends on a step.
 */
export type FailureClass =
  | 'wrong argument'
  | 'wrong decision'
  | 'wrong data'
  | 'missing data'
  | 'prompt or code'
  | 'ambient'
  | 'race'
  | 'flaky'
  | 'unknown'

/** A cause as data. Forks are named by the ids of their tapes in `tapes`. */
export interface CauseDetail {
  /** Labels, as in `findings.causes`. */
  readonly steps: readonly string[]
  readonly failingFork?: string
  readonly passingFork?: string
  readonly tapes?: string
  /** For each step: its recorded answer, and its answers in forks that passed. */
  readonly values: readonly {
    readonly step: string
    readonly bad: StepDescription
    readonly good: readonly StepDescription[]
  }[]
}

export function classifyFailure(
  { verdict, causes, steps }: BlameFindings,
  kindOf: (label: string) => StepKind | undefined,
  details: readonly CauseDetail[],
): FailureClass {
  const [first] = causes
  if (verdict === 'race' || verdict === 'flaky') return verdict
  if (verdict === 'no attributable step') return 'prompt or code'
  if (verdict !== 'attributed' || first === undefined) return 'unknown'
  if (first.ambient !== undefined && first.ambient.length > 0) return 'ambient'
  const [label] = first.steps
  const intervention = steps.find((step) => step.label === label)?.intervention ?? 'live'
  if (label === undefined || MADE_UP.has(intervention)) return 'unknown'
  const { bad, good = [] } = details[0]?.values.find(({ step }) => step === label) ?? {}
  if (kindOf(label) === 'model') {
    const isSameTool = bad?.tool !== undefined && good.some(({ tool }) => tool === bad.tool)
    return isSameTool ? 'wrong argument' : 'wrong decision'
  }
  return bad === undefined || /^\s*(null|""|\[\]|\{\})?\s*$/.test(bad.text)
    ? 'missing data'
    : 'wrong data'
}

/** Findings of a search that ended before it tested single steps. */
export function undecidedFindings(
  steps: readonly Pick<Step, 'label'>[],
): Omit<BlameFindings, 'verdict'> {
  const unknownRate = { fails: 0, forks: 0, low: 0, high: 1 }
  return {
    version: 2,
    causes: [],
    steps: steps.map(({ label }) => ({
      label,
      role: 'unknown',
      isNecessary: false,
      isSufficient: false,
      responsibility: 0,
    })),
    ambient: [],
    confidence: 0,
    anchors: { pinned: unknownRate, free: unknownRate },
    riskCurve: [],
    mode: 'free',
    evidence: [],
    forks: { asked: 0, served: 0, undefined: 0, liveSteps: 0 },
    notes: [],
  }
}

const MADE_UP: ReadonlySet<StepIntervention> = new Set(['neutral', 'empty', 'error', 'field'])

export interface SearchedStep {
  readonly label: string
  readonly kind: StepKind
  /** Kind and name of the step: `tool search_policy`. */
  readonly name: string
  /** Its action on one line: `search_policy({"text":"refund"})`. */
  readonly title: string
  /** Its action in a sentence: `the model called get_order with id 1128`. */
  readonly did: string
  /** Where the agent's code made the call, as `file:line:column`. */
  readonly site?: string
  /** Set for a tool call that appears only in the conversation. */
  readonly isInferred?: true
  /** Command of the process it belongs to, unless that is the run itself. */
  readonly process?: string
  /** Name and arguments of a tool. */
  readonly tool?: string
  readonly arguments?: unknown
  /** How it was answered while free. */
  readonly free?: string
}

interface SearchFacts {
  /** Forks run by this search; the others are from an earlier one. */
  readonly newForks: number
  /** Known cost of the forks run by this search. Missing in findings of older versions. */
  readonly spentUsd?: number
  /** Why forks have no verdict, with counts. */
  readonly undefinedBy: Readonly<Record<string, number>>
  /** Tools and kinds of steps that forks were not allowed to run. Missing in older findings. */
  readonly blocked?: readonly string[]
  /**
   * By label, how often a step with effects got its recorded answer although its arguments differed.
   * Missing in older findings.
   */
  readonly assumed?: Readonly<Record<string, number>>
  /** Number of recorded answers given to changed requests. */
  readonly forcedAnswers: number
  readonly wallMs: number
  /** How free steps are answered, as given; all others are live. */
  readonly free: readonly string[]
  readonly maxForks: number
  readonly maxUsd?: number
  readonly seed: number
}

/** Replaces the results of an earlier search of this run. */
export function writeFindings(tapeFile: string, found: FindingsFile): void {
  replacePrivateFile(findingsPath(tapeFile, found.run), `${JSON.stringify(found)}\n`)
}

/**
 * A short text that is equal for equal results of a step: a model's tool calls and words, a class
 * of errors, the result of a tool. Ignores ids, key order, case and punctuation.
 */
export function stepValue(step: Step): string {
  return step.inferred ? valueOfResult(inferredResult(step)) : shortDigest(meaningOf(step))
}

export const shortDigest = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, 16)

/** `stepValue` for the result of an unwrapped tool. */
export const valueOfResult = (result: unknown): string => shortDigest(canonicalFindings(result))

function meaningOf(step: Step): string {
  const { failure } = step
  if (failure !== undefined) return `error ${failure.class} ${failure.code ?? ''}`
  const status = step.exchange()?.response?.status ?? 200
  if (status >= 400) return `status ${status}`
  const calls = step.toolCalls.map(({ name, args }) => ({ name, args }))
  if (calls.length > 0) return `calls ${canonicalFindings(calls)}`
  if (step.kind === 'model') {
    const said = step.answer().map(messageText).join(' ').toLowerCase()
    // Keeps decimal points: 3.5 is not 35.
    return `says ${(said.match(/\d+(?:[.,]\d+)*|[\p{L}\p{N}]+/gu) ?? []).join(' ')}`
  }
  const call = step.call() ?? step.mcp()
  if (call !== undefined) return `result ${canonicalFindings(resultOf(call))}`
  const response = step.exchange()?.response
  if (response === undefined) return step.state
  return `answer ${response.json === undefined ? (response.text ?? '') : canonicalFindings(response.json)}`
}

function resultOf(call: {
  readonly result?: unknown
  readonly output?: readonly { readonly pipe: number; readonly bytes: Uint8Array }[]
}): unknown {
  const { result, output = [] } = call
  if (output.length === 0) return result
  return [result, output.map(({ pipe, bytes }) => [pipe, Buffer.from(bytes).toString()])]
}

/** JSON with sorted keys. Values that JSON lacks are written as in other output. */
export const canonicalFindings = (value: unknown): string => stableStringify(plainValue(value))
