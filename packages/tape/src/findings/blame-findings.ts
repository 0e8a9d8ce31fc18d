import type { Message } from '../providers/message.js'

/**
 * Result of a search for causes, as data: stored beside a run, printed by
 * `retake blame`, shown in the viewer. Steps are named by their labels, the numbers that
 * people see. Ambient inputs are meant by their index in `ambient`.
 */
export interface BlameFindings {
  readonly version: 2
  readonly verdict: BlameVerdict
  /** One sentence that says why, where the verdict is not `attributed`. */
  readonly why?: string
  /** The first is what made this run fail; the others would have made it fail without it. */
  readonly causes: readonly CauseSet[]
  /** Every step that was searched, in order. */
  readonly steps: readonly BlamedStep[]
  /** Clock reads, random values, files and variables that the run depended on besides its steps. */
  readonly ambient: readonly AmbientInput[]
  /** Steps whose order decided the outcome; only with the verdict `race`. */
  readonly race?: BlameRace
  /** A change that was run and passed. Missing if none was run. */
  readonly repair?: TestedRepair
  /** Where it was decided, and where it could no longer be avoided; often the same step. */
  readonly decisionStep?: string
  readonly commitStep?: string
  /** A lower bound of the probability that the first cause is exactly right, from the tests that named it. */
  readonly confidence: number
  readonly anchors: BlameAnchors
  /** How often it fails when the steps up to one are pinned. Only where it was tried. */
  readonly riskCurve: readonly RiskPoint[]
  /** `frozen`: read with everything else pinned as recorded, because a repair in a live tail does not help. */
  readonly mode: BlameMode
  readonly evidence: readonly BlameProbe[]
  readonly forks: ForkCounts
  /** Remarks that a reader must know: relearned, not monotone, staircase, stopped by a budget. */
  readonly notes: readonly string[]
}

/** How often it fails when everything is pinned, and when nothing is. */
export interface BlameAnchors {
  readonly pinned: Rate
  readonly free: Rate
  /** Every step pinned and every ambient input live. Missing where the run has no ambient input. */
  readonly ambientFree?: Rate
}

/**
 * Something that a program depends on besides its steps. `step` is the label of the step
 * after which it is first read; missing before the first step. `order`: the order in which
 * overlapping `steps` are answered; pinned, it is the recorded one.
 */
export interface AmbientInput {
  readonly kind: 'clock' | 'random' | 'file' | 'environment' | 'order'
  /** Function, path or variable: `Date.now`, `prompts/rules.json`, `TZ`. */
  readonly name: string
  /** Recorded value, in words, if it is short and no secret. */
  readonly value?: string
  /** Where it is read, for example `agent.ts:31`. */
  readonly site?: string
  readonly step?: string
  /** Labels of the overlapping steps; only for `order`. */
  readonly steps?: readonly string[]
}

/** Steps whose order decided the outcome, and a sentence that says how. */
export interface BlameRace {
  readonly steps: readonly string[]
  readonly text: string
}

/** Steps and ambient inputs that were free while the rest was pinned or followed from them, and how often that passed. */
export interface TestedRepair {
  readonly steps: readonly string[]
  readonly ambient?: readonly number[]
  /** Steps that kept their recorded answers while it ran, as in `BlameProbe.pinned`. */
  readonly pinned: string
  readonly rate: PassRate
}

/** Passes among forks that came to a verdict, with the interval that is shown for it. */
export interface PassRate {
  readonly passes: number
  readonly forks: number
  readonly low: number
  readonly high: number
}

/**
 * `attributed`: `causes` names it. `dependence`: `causes` names steps that the failure depends on,
 * but only made-up answers were tried, so it is unknown if theirs were wrong. `no attributable step`: it fails as often
 * whatever is pinned. `flaky`: the unchanged run does not fail every time, and no
 * step explains it. `race`: the order of overlapping steps decides. `inconclusive`: not
 * enough forks to decide. `stopped`: by a budget or the user.
 */
export type BlameVerdict =
  | 'attributed'
  | 'dependence'
  | 'race'
  | 'no attributable step'
  | 'flaky'
  | 'inconclusive'
  | 'stopped'

export type BlameMode = 'free' | 'frozen'

/** Steps and ambient inputs that together make the run fail; without any one of them they do not. */
export interface CauseSet {
  readonly role: 'root' | 'joint' | 'back-up'
  readonly steps: readonly string[]
  /** Ambient members, by their index in `BlameFindings.ambient`. */
  readonly ambient?: readonly number[]
  /** How often the run fails when only these are pinned. */
  readonly sufficiency: Rate
  /** Each step's exact Shapley share of that. */
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
  /** Pinned alone it makes the run fail. */
  readonly isSufficient: boolean
  /** 1 / (1 + how many other causes would have to be repaired as well); 0 outside of causes. */
  readonly responsibility: number
  /** How often the run fails when only this step is pinned, where that was tried. */
  readonly alone?: Rate
  /** How likely it was before any fork, by what is seen on the tape. */
  readonly prior?: number
  /** It said what was recorded in every fork with nothing pinned. */
  readonly isUnchanged?: boolean
  /** How the step was answered where it was free; `live` if missing. */
  readonly intervention?: StepIntervention
}

/**
 * `live`: asked or run again. `given`: an answer that the user gave as right. `sibling`: the
 * answer of another recorded run. `recorded`: another recorded answer of the same tool.
 * `simulated`: by a simulator. `neutral`, `empty`, `error`, `field`: an answer that says
 * nothing, fails, or has one field changed: that shows dependence, and not that the recorded
 * answer was wrong. `pinned`: always the recorded answer, because running it again would have
 * effects and no other answer is known.
 */
export type StepIntervention =
  | 'live'
  | 'given'
  | 'sibling'
  | 'recorded'
  | 'simulated'
  | 'neutral'
  | 'empty'
  | 'error'
  | 'field'
  | 'pinned'

/** Failures among forks that came to a verdict, with the interval that is shown for it. */
export interface Rate {
  readonly fails: number
  readonly forks: number
  /** Lower and upper bound, 95 %, valid whenever it was stopped. */
  readonly low: number
  readonly high: number
}

export interface RiskPoint {
  /** The steps up to this one are pinned; missing: none. */
  readonly upTo?: string
  readonly rate: Rate
}

/** One question that was put to forks, and what they said. */
export interface BlameProbe {
  readonly purpose: ProbePurpose
  readonly mode: BlameMode
  /** Labels of the pinned steps, as ranges: `1–5, 8`. Empty if none was pinned. */
  readonly pinned: string
  /** Ambient inputs that were pinned; missing if none was. */
  readonly ambient?: readonly number[]
  /** Steps that got what they had said in another fork, and what was pinned in that one. */
  readonly given?: readonly { readonly step: string; readonly from: string }[]
  readonly rate: Rate
  readonly undefinedForks: number
  /** The conclusion; missing while it is open. */
  readonly fails?: boolean
}

export type ProbePurpose =
  | 'anchor'
  | 'ambient'
  | 'prefix'
  | 'cause'
  | 'minimal'
  | 'repair'
  | 'echo'
  | 'transplant'
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
