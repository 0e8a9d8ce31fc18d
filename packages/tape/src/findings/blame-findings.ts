import type { Message } from '../providers/message.js'

/**
 * Result of a search for causes, as data: stored beside a run, printed by
 * `retake blame`, shown in the viewer. Steps are meant by their place among the
 * steps that were searched, from 0; `steps[i].label` is what people call them.
 */
export interface BlameFindings {
  readonly version: 1
  readonly verdict: BlameVerdict
  /** One sentence that says why, where the verdict is not `attributed`. */
  readonly why?: string
  /** The first is what made this run fail; the others would have made it fail without it. */
  readonly causes: readonly CauseSet[]
  /** Every step that was searched, in order. */
  readonly steps: readonly BlamedStep[]
  /** The fewest steps that must be repaired together for the run to pass: one of each cause. */
  readonly minimalRepair: readonly number[]
  /** Where it was decided, and where it could no longer be avoided; often the same step. */
  readonly decisionStep?: number
  readonly commitStep?: number
  /** A lower bound of the probability that the first cause is exactly right, from the tests that named it. */
  readonly confidence: number
  /** How often it fails when everything is kept, and when nothing is. */
  readonly anchors: { readonly kept: Rate; readonly free: Rate }
  /** How often it fails when the steps up to one are kept. Only where it was looked. */
  readonly riskCurve: readonly RiskPoint[]
  /** `frozen`: read with everything else held as recorded, because a repair in a live tail does not help. */
  readonly mode: BlameMode
  readonly evidence: readonly BlameProbe[]
  readonly forks: ForkCounts
  /** Remarks that a reader must know: relearned, not monotone, staircase, stopped by a budget. */
  readonly notes: readonly string[]
}

/**
 * `attributed`: `causes` names it. `no attributable step`: it fails as often
 * whatever is kept. `flaky`: the unchanged run does not fail every time, and no
 * step explains it. `inconclusive`: not enough forks to tell. `stopped`: by a budget or the user.
 */
export type BlameVerdict =
  | 'attributed'
  | 'no attributable step'
  | 'flaky'
  | 'inconclusive'
  | 'stopped'

export type BlameMode = 'free' | 'frozen'

/** Steps that together make the run fail; without any one of them they do not. */
export interface CauseSet {
  readonly role: 'root' | 'joint' | 'back-up'
  readonly steps: readonly number[]
  /** How often the run fails when only these are kept. */
  readonly sufficiency: Rate
  /** Each member's exact Shapley share of that. */
  readonly shares: readonly number[]
}

/**
 * `root`: alone necessary and sufficient. `joint`: a member of a cause of several.
 * `back-up`: would have made it fail without the first cause. `echo`: fails, but only
 * repeats what a cause made of it. `affected`: changed by a cause, and harmless alone.
 * `clear`: has nothing to do with it. `unknown`: not reached.
 */
export type StepRole = 'root' | 'joint' | 'back-up' | 'echo' | 'affected' | 'clear' | 'unknown'

export interface BlamedStep {
  readonly label: string
  readonly role: StepRole
  /** In the first cause: without it, this run would not have failed then. */
  readonly isNecessary: boolean
  /** Kept alone it makes the run fail. */
  readonly isSufficient: boolean
  /** 1 / (1 + how many other causes would have to be repaired as well); 0 outside of causes. */
  readonly responsibility: number
  /** How often the run fails when only this step is kept, where that was tried. */
  readonly alone?: Rate
  /** How likely it was before any fork, by what is seen on the tape. */
  readonly prior?: number
}

/** Failures among forks that came to a verdict, with the interval that is shown for it. */
export interface Rate {
  readonly fails: number
  readonly forks: number
  /** Lower and upper bound, 95 %, valid whenever it was stopped. */
  readonly low: number
  readonly high: number
}

export interface RiskPoint {
  /** Steps 0 to this one are kept; -1: none. */
  readonly upTo: number
  readonly rate: Rate
}

/** One question that was put to forks, and what they said. */
export interface BlameProbe {
  /** Purpose: `anchor`, `prefix`, `cause`, `minimal`, `repair`, `echo`, `back-up`, `audit`, `confirm`, `one out`, `risk`. */
  readonly purpose: ProbePurpose
  readonly mode: BlameMode
  /** Steps held as recorded, as ranges: `0-4,7`. */
  readonly kept: string
  readonly rate: Rate
  readonly undefinedForks: number
  /** The conclusion; missing while it is open. */
  readonly fails?: boolean
}

export type ProbePurpose =
  | 'anchor'
  | 'prefix'
  | 'cause'
  | 'minimal'
  | 'repair'
  | 'echo'
  | 'back-up'
  | 'audit'
  | 'confirm'
  | 'one out'
  | 'risk'

export interface ForkCounts {
  /** Forks that the search asked for, also those an earlier search had run. */
  readonly asked: number
  /** Of these, found among the stored ones. */
  readonly served: number
  /** That came to no verdict: the agent broke, or the oracle could not tell. */
  readonly undefined: number
  /** Steps that were run again in all. */
  readonly liveSteps: number
  readonly tokens?: number
  readonly costUsd?: number
}

/**
 * Which parts of what a model was asked made its answer fail the run. Every part was
 * left out and put back in; a part is left out by putting neutral words in its place.
 */
export interface SpanFindings {
  readonly version: 1
  /** Label of the step whose input this is. */
  readonly step: string
  readonly verdict: BlameVerdict
  /** One sentence that says why, where the verdict is not `attributed`. */
  readonly why?: string
  /** Every message and result of a tool that was searched, in order. */
  readonly messages: readonly InputPart[]
  /** The words in blamed messages that mattered; the whole text where it could not be narrowed. */
  readonly spans: readonly InputSpan[]
  readonly forks: ForkCounts
  readonly notes: readonly string[]
}

/** A message of a request, or a result of a tool in it. */
export interface InputPart {
  /** Where in the request it is: `messages.3`. */
  readonly path: string
  readonly speaker: Message['role']
  readonly excerpt: string
  /** As of a step: `root` alone makes it fail, `joint` only with others, `clear` has nothing to do with it. */
  readonly role: StepRole
  /** Which cause it belongs to, from 0; the others would have failed without the first. */
  readonly cause?: number
  /** How often it fails when only the parts of that cause are there. */
  readonly rate?: Rate
}

/** A piece of a text in a request. */
export interface InputSpan extends InputPart {
  /** Where in the text at `path` it begins and ends; where there is no text, in its JSON. */
  readonly start: number
  readonly end: number
}
