import type {
  Durability,
  Preload,
  RecordedCode,
  RecordedError,
  RunDetails,
} from '@retake/tape/format'
import type { OrderOptions, Swap } from './player/turns.js'
import type { ContinuePlan, LiveReport, SettledDoubt, PinnedReport } from './player/plan.js'

/**
 * Task of an agent process, which the command line passes in the variable
 * `RETAKE_SESSION` and removed from the environment before agent code runs. One that
 * is too long for a variable lies in a file; the variable has `@` and its path.
 */
export type ProcessTask = (RecordTask | ReplayTask | ContinueTask | ChaosTask) & CommonTask

export interface CommonTask {
  /** How many of Node's own flags, counted from the last, were added by Retake. */
  readonly flagCount: number
  /** Packages whose native add-on only computes, beside those that Retake knows. */
  readonly pureAddons?: readonly string[]
  /** File that remembers runs as trusted; the one that is recorded is added to it. */
  readonly trustedRuns?: string
  /** File for the error that stopped Retake itself, as JSON: code, what, why, fix. */
  readonly failure?: string
  /** Set for a run of `record()`: the process makes this call instead of running a program. */
  readonly call?: FunctionCall
}

/** The function that was recorded: absolute path of its module, its export, and its input as a wire value. */
export interface FunctionCall {
  readonly file: string
  readonly name: string
  readonly input?: unknown
  /** `inputProof` of the tape. */
  readonly proof?: string
}

export interface RecordTask {
  readonly mode: 'record'
  readonly id: string
  readonly name: string
  readonly tape: string
  /** The agent file as the user named it, and its arguments. */
  readonly entry: string
  readonly args: readonly string[]
  readonly tags?: readonly string[]
  /** File for the `CallSites`, when they are wanted. */
  readonly sites?: string
  /** Folder for copies of the databases that the agent opens; the agent uses the copies. */
  readonly databases?: string
  readonly code?: RecordedCode
  /** Exit when the program starts to listen, because such a run cannot be replayed. */
  readonly strict?: boolean
  /** `machine` unless set. */
  readonly durability?: Durability
  /** The seal is signed, and receipts can disclose single steps. */
  readonly sign?: boolean
  /** Rules for personal data, as texts. */
  readonly redact?: readonly string[]
  /** Programs that the run starts with Node are recorded on tapes of their own. */
  readonly recordsChildren?: boolean
  /** Set for such a program. */
  readonly startedBy?: RunDetails['startedBy']
}

/** Where in the agent's code values were drawn and timers armed, with how often. */
export type CallSites = readonly {
  /** Kind of the draw or timer, or name of the work. */
  readonly name: string
  /** Missing when the whole stack is library code. */
  readonly site?: string
  readonly count: number
}[]

export interface ReplayTask {
  readonly mode: 'replay'
  readonly tape: string
  readonly observe: boolean
  readonly pace: 'full' | 'recorded'
  readonly compares?: 'everything' | 'requests'
  /** File for the `ReplayReport`. */
  readonly report: string
  /** The report has the call site of each drawn value, which is not on the tape. */
  readonly reportsDrawSites?: boolean
  /** The process is inspected: it waits for instructions how far to go. */
  readonly inspect?: InspectTask
  /** Set if the program is in another folder than when it was recorded. */
  readonly root?: MovedRoot
}

/** The folder a program was recorded in, and a copy of it in which it is replayed; absolute paths. */
export interface MovedRoot {
  readonly recorded: string
  readonly current: string
}

export interface InspectTask {
  /** Descriptor of the pipe to the controller; see `Probe`. */
  readonly fd: number
}

/** A run that continues from its tape: resume, fork or rerun. */
export interface ContinueTask {
  readonly mode: 'continue'
  readonly plan: ContinuePlan
  /** File for the `ContinueReport`. */
  readonly report: string
}

/** Report of a process that continued from a tape. */
export interface ContinueReport {
  /** Number of events that were served. */
  readonly position: number
  readonly isLive: boolean
  /** The mismatch at which it went live, if that is why. */
  readonly left?: unknown
  /** Set when the part that had to be served did not match: nothing was recorded. */
  readonly divergences: readonly unknown[]
  readonly served: number
  readonly reexecuted: number
  readonly settled: readonly SettledDoubt[]
  /** Set where steps were held at what was recorded. */
  readonly pinned?: PinnedReport | undefined
  /** Set where the plan has rules for live requests. */
  readonly live?: LiveReport | undefined
  /** From opening the tape to going live, or to the end when it never did. */
  readonly servedMs: number
  readonly wallMs: number
  readonly exitCode: number
}

/** A recorded run once more, with its own answers in another order. */
export interface ChaosTask {
  readonly mode: 'chaos'
  /** The recorded run. */
  readonly source: string
  readonly order: OrderOptions
  /** Tape for what happens. */
  readonly tape: string
  readonly id: string
  readonly name: string
  /** File for the `ChaosReport`. */
  readonly report: string
}

/** Report of a process that got its answers in another order. */
export interface ChaosReport {
  readonly exitCode: number
  /** Set when it asked for something that is not on the tape: it was stopped there. */
  readonly divergences: readonly unknown[]
  /** How often the next delivery was chosen. */
  readonly picks: number
  /** The choices that went against the recorded order. */
  readonly swaps: readonly Swap[]
  /** Recorded requests that this run did not make, by event. */
  readonly unasked: readonly { readonly seq: number; readonly what: string }[]
  /** Operations that were open at its end and have no further parts on the tape. */
  readonly cutShort: readonly { readonly seq: number; readonly what: string }[]
  readonly contacts: Readonly<Record<string, number>>
  readonly wallMs: number
}

/** Report of a replayed process. */
export interface ReplayReport {
  readonly events: number
  readonly position: number
  readonly served: number
  readonly reexecuted: number
  /** Attempts to reach the outside, by kind; none was let through, and there should be none. */
  readonly contacts: Readonly<Record<string, number>>
  readonly divergences: readonly unknown[]
  readonly wallMs: number
  /** The tape ended before the program did, because the recording was cut off. */
  readonly cutOff: boolean
  readonly exitCode: number
  /** Variables and files the program read and got a placeholder for: the recorded secret is not there. */
  readonly placeholders?: readonly string[]
  /** By event, where in the agent's code each value was drawn; those of libraries are missing. */
  readonly drawSites?: Readonly<Record<number, string>>
  /** How the program itself ended; missing when the replay stopped it. */
  readonly end?: { readonly exitCode: number; readonly error?: RecordedError }
}

export const TASK_VARIABLE = 'RETAKE_SESSION'

/** Preloads that Node was started without, to be loaded inside the run; passed in `RETAKE_PRELOADS`. */
export interface DeferredPreloads {
  readonly modules: readonly Preload[]
  /** Flags as the user gave them. */
  readonly execArgv: readonly string[]
  /** `NODE_OPTIONS` as the user set it, which children of the agent inherit. */
  readonly nodeOptions?: string
}

export const PRELOADS_VARIABLE = 'RETAKE_PRELOADS'
