import type { BranchDetails, RecordedCode, RetakeError } from '@retake/tape/format'
import type { HandOverPlan } from '../kernel/settle-doubts.js'
import type { Leave } from '../kernel/go-live.js'
import type { MovedRoot } from './moved-tape.js'
import type { ToolResultPlan } from './tool-results.js'

/**
 * How a run continues from its tape: which part is served, where it goes live, and the edits there.
 * Plain data, so that it can be passed to another process.
 */
export interface ContinuePlan extends HandOverPlan {
  readonly source: string
  /** The new tape. Without it, the source tape itself is continued. */
  readonly branch?: {
    readonly id: string
    readonly path: string
    readonly name: string
    readonly details: BranchDetails
    /** The code that the branch runs. A branch that is discarded may run its parent's. */
    readonly code?: RecordedCode
  }
  readonly leave: Leave
  /** `offline`: after the tape is left, answers still come from it only. */
  readonly tail: 'live' | 'offline'
  /** The first value drawn after the tape is left. */
  readonly draw?: { readonly value: unknown }
  /** Folder for files that the branch writes. */
  readonly overlay?: string
  /** Steps whose recorded answers identical requests still get after the tape is left. */
  readonly served?: PinnedPlan
  /** Pinned steps, and how all others are answered after the tape is left. */
  readonly pinned?: PinnedPlan
  /** Set if the program runs in another folder than the recorded one, such as a copy of it. */
  readonly root?: MovedRoot
  /** True if the branch is deleted after it was read, so it need not survive a crash. */
  readonly isDiscarded?: boolean
  /** Rules for everything that leaves the process after the tape is left. */
  readonly live?: LiveRules
}

/** Rules for requests, tools, processes and connections that would go live. */
export interface LiveRules {
  /**
   * Changes in the body of every live model request, by path; a request without that path is sent
   * unchanged.
   */
  readonly edits?: Readonly<Record<string, unknown>>
  /** Replaces the system prompt of every live model request that has one. */
  readonly system?: string
  /**
   * What ends the run before it leaves the process. `effects` are tools, processes, databases, and
   * requests other than GET and model requests.
   */
  readonly refuse?: 'effects' | 'everything'
  /** Names of tools that may run anyway, for a process in a sandbox. */
  readonly runs?: readonly string[]
  /** True if tools that run may use neither network nor processes: the sandbox does not confine them. */
  readonly isolatesTools?: boolean
}

/** Outcome of the rules for live requests. */
export interface LiveReport {
  /** Number of live model requests, and of those whose body was changed. */
  readonly requests: number
  readonly edited: number
  /** The refused request that ended the run. */
  readonly refused?: RefusedRequest
}

/** Something that would have left the process. */
export interface RefusedRequest {
  readonly what: string
  readonly site?: string
  /** `host:port` of a request or connection. */
  readonly address?: string
}

/** One part of an answer, its body as base64. */
/**
 * How each step is answered after a fork has left the tape. Plain data, as a part of a
 * `ContinuePlan`.
 */
export interface PinnedPlan {
  /** Labels of the steps that get their recorded answers, whatever their requests. */
  readonly pinned: readonly string[]
  /** `frozen`: a free step that goes live sends the recorded request. */
  readonly mode: 'free' | 'frozen'
  /** By label, how a free step is answered. Steps without an entry are live. */
  readonly answers?: Readonly<Record<string, FreeAnswer>>
  /**
   * By label, a request that replaces the agent's: the `data` of a payload, as `requestPayload`
   * returns it.
   */
  readonly requests?: Readonly<Record<string, unknown>>
  /** Replaced results of unwrapped tools, in every request to a model. */
  readonly results?: readonly ToolResultPlan[]
  /**
   * File of a module whose default export is a `Simulator`, for every free step without an entry in
   * `answers`.
   */
  readonly simulator?: string
  /** Passed to the simulator, so that forks with the same seed can have the same outcome. */
  readonly seed: number
  /**
   * By `callContentKey`, answers to free steps without an entry in `answers`. Equal calls get them in
   * order; the last one repeats.
   */
  readonly recordings?: Readonly<Record<string, readonly FreeAnswer[]>>
  /**
   * By `callContentKey`, answers that models gave to the same requests in an earlier run of this fork.
   * Each is given once, in order; further requests are live.
   */
  readonly samples?: Readonly<Record<string, readonly FreeAnswer[]>>
  /**
   * Names of tools, or kinds of steps, that may really run; all if missing. Steps with effects are
   * tools, processes, and requests other than GET and HEAD that do not go to a model. A step that
   * may not run gets the recorded answer of the same call, or its own if that also fits other
   * arguments; otherwise the fork ends.
   */
  readonly liveTools?: readonly string[]
  /**
   * The ambient inputs that come from the tape. The fork then leaves the tape before its first
   * event, and all other clocks, random values, files and variables are live from the start. If
   * missing, everything up to the first free step is served.
   */
  readonly ambient?: AmbientPlan
  /**
   * Serves the clock and random values that the recorded run drew in the same turn; for changed
   * code, whose call sites differ.
   */
  readonly draws?: 'by turn'
  /** By label of the step that starts them, processes that are forked instead of being a single step. */
  readonly children?: Readonly<Record<string, ChildPlan>>
  /**
   * Set if a step of another process of the same run is free. Operations that the tape does not
   * have are then live, even if all steps of this process are pinned.
   */
  readonly isOpen?: boolean
  /**
   * True if a request that differs only in the system prompt matches the recorded one, and is
   * reported as pinned.
   */
  readonly ignoresSystem?: boolean
}

/** A fork of a process that a forked run starts. */
export interface ChildPlan {
  readonly tape: string
  readonly plan: PinnedPlan
  /** Recorded values of variables that it inherits. */
  readonly variables: Readonly<Record<string, string>>
}

/** The ambient inputs that a fork gets from the tape. */
export interface AmbientPlan {
  /** Events of recorded values, with their call sites in the agent's code. */
  readonly draws: readonly { readonly seq: number; readonly site?: string }[]
  /** Absolute paths. */
  readonly files: readonly string[]
  /** Environment variables of a process run. */
  readonly variables: readonly string[]
  /** True if answers that are not live come in the recorded order; otherwise the seed decides. */
  readonly order: boolean
  /** Set for a process that another fork starts, which provides its input. */
  readonly input?: 'live'
}

/**
 * How a free step is answered without a live request: with `payload`, the parsed answer (`data` of
 * `answerPayload`), or with an error with this message.
 */
export type FreeAnswer = { readonly payload: unknown } | { readonly error: string }

/** A free step and its request, for a simulator. */
export interface SimulatedStep {
  /** Label of the recorded step that it matches; missing if there is none. */
  readonly label?: string
  readonly kind: 'model' | 'tool' | 'http' | 'mcp' | 'process'
  /** The name of a tool, method and URL of a request, the command line of a process. */
  readonly name: string
  /** Parsed request, or the arguments of a tool, as planned; in frozen mode, as recorded. */
  readonly request: unknown
  /** The recorded answer, parsed, if any. */
  readonly recorded?: unknown
  readonly seed: number
}

/** Answers free steps in place of the outside. Return `undefined` for requests that should go live. */
export type Simulator = (
  step: SimulatedStep,
) => FreeAnswer | undefined | Promise<FreeAnswer | undefined>

/** What happened to the recorded steps, by label. */
export interface PinnedReport {
  /** Event of this run that started the step; missing if the run did not reach it. */
  readonly matched: Readonly<Record<string, number>>
  /** Pinned steps whose request differed, so that their recorded answer was forced. */
  readonly forced: readonly string[]
  /** Free steps that may not run and got their recorded answer, although their arguments differed. */
  readonly assumed: readonly string[]
  /** Steps of this run that match no recorded one. */
  readonly unmatched: number
  /** Steps that went live. */
  readonly live: number
  /** Events of live steps whose requests were sent unchanged. */
  readonly sent: readonly number[]
  /** Labels of the steps answered from `samples`. */
  readonly sampled: readonly string[]
  /**
   * Served steps, other than model steps, that followed a live effect on the same host or tool, so
   * that their answers may be stale.
   */
  readonly stale: readonly string[]
  /** Why the fork proves nothing: a free step could not be answered as planned. */
  readonly broken?: Pick<RetakeError, 'code' | 'what' | 'why' | 'fix'> & {
    /** The tool or kind of step to add to `liveTools`, if that would help. */
    readonly effect?: string
  }
}
