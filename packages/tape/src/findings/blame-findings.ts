import type { Message } from '../providers/specification/message.js'

/**
 * Result of a search for causes, as data: stored beside a run, printed by `retake blame`, shown in
 * the viewer. Steps are named by their labels, the numbers that users see. Ambient inputs are named
 * by their index in `ambient`.
 */
export interface BlameFindings {
  readonly version: 2
  readonly verdict: BlameVerdict
  /** One sentence with the reason; missing if the verdict is `attributed`. */
  readonly why?: string
  /** The first made this run fail; each of the others would have done so without the first. */
  readonly causes: readonly CauseSet[]
  /** Every step that was searched, in order. */
  readonly steps: readonly BlamedStep[]
  /** Clock reads, random values, files and variables that the run depended on besides its steps. */
  readonly ambient: readonly AmbientInput[]
  /** Steps whose order decided the outcome; only with the verdict `race`. */
  readonly race?: BlameRace
  /** A change that was tested and passed. Missing if none was tested. */
  readonly repair?: TestedRepair
  /** How often the run fails with only the clear steps pinned; missing if no test cleared them. */
  readonly cleared?: Rate
  /** Where the failure was decided, and from where it was unavoidable; often the same step. */
  readonly decisionStep?: string
  readonly commitStep?: string
  /** Lower bound of the probability that the first cause is exactly right, from the tests that named it. */
  readonly confidence: number
  readonly anchors: BlameAnchors
  /** How often the run fails if the steps up to a point are pinned. Only tested points. */
  readonly riskCurve: readonly RiskPoint[]
  /**
   * `frozen`: tested with everything else pinned, because a repair does not help if the rest of the
   * run is live.
   */
  readonly mode: BlameMode
  readonly evidence: readonly BlameProbe[]
  readonly forks: ForkCounts
  /** Notes for the reader: relearned, not monotone, staircase, stopped by a budget. */
  readonly notes: readonly string[]
}

/** Failure rates with everything pinned, and with nothing pinned. */
export interface BlameAnchors {
  readonly pinned: Rate
  readonly free: Rate
  /** Every step pinned and every ambient input live. Missing if the run has no ambient input. */
  readonly ambientFree?: Rate
}

/**
 * Something that a program depends on besides its steps. `step` is the label of the step after
 * which it is first read; missing before the first step. `order`: the order in which overlapping
 * `steps` are answered; pinned, it is the recorded one.
 */
export interface AmbientInput {
  readonly kind: 'clock' | 'random' | 'file' | 'environment' | 'order'
  /** A function, path or variable: `Date.now`, `prompts/rules.json`, `TZ`. */
  readonly name: string
  /** Recorded value as text, if it is short and not a secret. */
  readonly value?: string
  /** Its value while it is not pinned, if that is known. */
  readonly now?: string
  /** Where it is read, for example `agent.ts:31`. */
  readonly site?: string
  readonly step?: string
  /** Labels of the overlapping steps; only for `order`. */
  readonly steps?: readonly string[]
}

/** Steps whose order decided the outcome, and a sentence that explains it. */
export interface BlameRace {
  readonly steps: readonly string[]
  readonly text: string
}

/**
 * Steps and ambient inputs that were free while the rest was pinned or followed from them, and how
 * often such forks passed.
 */
export interface TestedRepair {
  readonly steps: readonly string[]
  readonly ambient?: readonly number[]
  /** Steps that were pinned in the test, as in `BlameProbe.pinned`. */
  readonly pinned: string
  readonly rate: PassRate
}

/** Passes among forks with a verdict, with their confidence interval. */
export interface PassRate {
  readonly passes: number
  readonly forks: number
  readonly low: number
  readonly high: number
}

/**
 * `attributed`: `causes` names the cause. `dependence`: `causes` names steps that the failure
 * depends on, but only made-up answers were tried, so it is unknown whether the recorded ones were
 * wrong. `no attributable step`: it fails equally often whatever is pinned. `flaky`: the unchanged
 * run does not always fail, and no step explains it. `race`: the order of overlapping steps
 * decides. `inconclusive`: not enough forks to decide. `stopped`: by a budget or the user.
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

/** Steps and ambient inputs that together make the run fail; all of them are needed. */
export interface CauseSet {
  readonly role: 'root' | 'joint' | 'back-up'
  readonly steps: readonly string[]
  /** Ambient members, by their index in `BlameFindings.ambient`. */
  readonly ambient?: readonly number[]
  /** How often the run fails when only these are pinned. */
  readonly sufficiency: Rate
  readonly shares: readonly number[]
}

/**
 * `root`: alone necessary and sufficient. `joint`: a member of a cause of several. `back-up`: would
 * have made it fail without the first cause. `echo`: fails, but only because of a cause.
 * `affected`: changed by a cause, and harmless alone. `clear`: unrelated. `unknown`: not reached.
 */
export type StepRole = 'root' | 'joint' | 'back-up' | 'echo' | 'affected' | 'clear' | 'unknown'

export interface BlamedStep {
  readonly label: string
  readonly role: StepRole
  /** True if it is in the first cause: without it, this run would not have failed there. */
  readonly isNecessary: boolean
  /** True if it makes the run fail when pinned alone. */
  readonly isSufficient: boolean
  /** 1 / (1 + number of other causes that would also have to be repaired); 0 outside causes. */
  readonly responsibility: number
  /** How often the run fails when only this step is pinned, if tested. */
  readonly alone?: Rate
  /** Probability before any fork, from what is on the tape. */
  readonly prior?: number
  /** True if it gave its recorded answer in every fork in which nothing was pinned. */
  readonly isUnchanged?: boolean
  /** How the step was answered while free; `live` if missing. */
  readonly intervention?: StepIntervention
}

/**
 * `live`: requested or run again. `given`: an answer that the user gave as correct. `sibling`: the
 * answer of another recorded run. `recorded`: another recorded answer of the same tool.
 * `simulated`: by a simulator. `neutral`, `empty`, `error`, `field`: an answer that says nothing,
 * fails, or has one field changed; it shows dependence, not that the recorded answer was wrong.
 * `pinned`: always the recorded answer, because running it again would have effects and no other
 * answer is known.
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

/** Failures among forks with a verdict, with their confidence interval. */
export interface Rate {
  readonly fails: number
  readonly forks: number
  /** Lower and upper bound, 95 %, valid at any stopping time. */
  readonly low: number
  readonly high: number
}

export interface RiskPoint {
  /** The steps up to this one are pinned; missing if none is. */
  readonly upTo?: string
  readonly rate: Rate
}

/** One hypothesis that was tested with forks, and the result. */
export interface BlameProbe {
  readonly purpose: ProbePurpose
  readonly mode: BlameMode
  /** Labels of the pinned steps, as ranges: `1–5, 8`. Empty if none was pinned. */
  readonly pinned: string
  /** Ambient inputs that were pinned; missing if none was. */
  readonly ambient?: readonly number[]
  /** Steps that got their answer from another fork, and what was pinned there. */
  readonly given?: readonly { readonly step: string; readonly from: string }[]
  readonly rate: Rate
  readonly undefinedForks: number
  /** The conclusion; missing while open. */
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
  /** Forks that the search requested, including those of earlier searches. */
  readonly asked: number
  /** Number of these that an earlier search had stored. */
  readonly served: number
  /** Number without a verdict: the agent broke, or the oracle could not decide. */
  readonly undefined: number
  /** Total number of steps that were run again. */
  readonly liveSteps: number
  readonly tokens?: number
  readonly costUsd?: number
}

/**
 * The parts of a model request whose presence made the run fail. Every part was left out and put
 * back; a part is left out by replacing it with neutral words.
 */
export interface SpanFindings {
  readonly version: 1
  /** Label of the step whose input was searched. */
  readonly step: string
  readonly verdict: BlameVerdict
  /** One sentence with the reason; missing if the verdict is `attributed`. */
  readonly why?: string
  /** Every searched message and tool result, in order. */
  readonly messages: readonly InputPart[]
  /** The decisive words in blamed messages; the whole text if it could not be narrowed down. */
  readonly spans: readonly InputSpan[]
  readonly forks: ForkCounts
  readonly notes: readonly string[]
}

/** A message of a request, or a tool result in it. */
export interface InputPart {
  /** Path in the request: `messages.3`. */
  readonly path: string
  readonly speaker: Message['role']
  readonly excerpt: string
  /** As for a step: `root` makes it fail alone, `joint` only with others, `clear` is unrelated. */
  readonly role: StepRole
  /**
   * Index of its cause, from 0. The first cause made the run fail; each of the others would have
   * done so without it.
   */
  readonly cause?: number
  /** How often the run fails if only the parts of that cause are present. */
  readonly rate?: Rate
}

export interface InputSpan extends InputPart {
  /** Start and end in the text at `path`, or in its JSON if it is not text. */
  readonly start: number
  readonly end: number
}
