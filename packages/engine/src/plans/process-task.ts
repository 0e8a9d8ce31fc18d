import type { Divergence } from '../texts/divergence-text.js'
import type {
  Durability,
  HostFacts,
  Preload,
  RecordedCode,
  RecordedError,
  RunDetails,
} from '@retake/tape/format'
import type { SettledDoubt } from '../kernel/settle-doubts.js'
import type { MovedRoot } from '../player/moved-tape.js'
import type { OrderOptions, Swap } from '../player/turns.js'
import type { ContinuePlan, LiveReport, PinnedReport } from '../player/plan.js'

/**
 * Task of an agent process, passed by the command line in the variable `RETAKE_SESSION` and removed
 * from the environment before agent code runs. If a task is too long for a variable, the variable
 * contains `@` and the path of a file.
 */
export type ProcessTask = (RecordTask | ReplayTask | ContinueTask | ChaosTask) & CommonTask

export interface CommonTask {
  /** Number of Node flags, counted from the last, that Retake added. */
  readonly flagCount: number
  /** Packages whose native add-on only computes, in addition to the built-in list. */
  readonly pureAddons?: readonly string[]
  /** File with the trusted runs, to which the recorded run is added. */
  readonly trustedRuns?: string
  /** File for the error that stopped Retake itself, as JSON: code, what, why, fix. */
  readonly failure?: string
  /** Folder that this process may write, removed at its end. */
  readonly scratch?: string
  /** URL of a module that is loaded when the boundaries are installed, before code of the run. */
  readonly watch?: string
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
  /** Facts that the module finds when it is loaded. */
  readonly host?: HostFacts
}

/** Reads the code of a child program, and keeps it beside the runs. */
export interface CodeModule {
  readonly storeCodeOfChild: (entry: string, tape: string) => RecordedCode | undefined
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
  /** File for the `CallSites`, if requested. */
  readonly sites?: string
  /** Folder for copies of the databases that the agent opens; the agent uses the copies. */
  readonly databases?: string
  readonly code?: RecordedCode
  /** True if the process exits when the program starts to listen, because such a run cannot be replayed. */
  readonly strict?: boolean
  /** `machine` unless set. */
  readonly durability?: Durability
  /** True if the seal is signed, and receipts can disclose single steps. */
  readonly sign?: boolean
  /** Rules for personal data, as texts. */
  readonly redact?: readonly string[]
  /** True if Node programs that the run starts are recorded on their own tapes. */
  readonly recordsChildren?: boolean
  /** URL of a `CodeModule` for their code. */
  readonly childCode?: string
  /** Set for such a child program. */
  readonly startedBy?: RunDetails['startedBy']
}

/** Lines of the agent's code where values were drawn and timers started, with counts. */
export type CallSites = readonly {
  /** Kind of the draw or timer, or name of the work. */
  readonly name: string
  /** Missing if the whole stack is library code. */
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
  /** True if the report includes the call site of each drawn value, which is not on the tape. */
  readonly reportsDrawSites?: boolean
  /** Set if the process is inspected; it then waits for instructions. */
  readonly inspect?: InspectTask
  /** Set if the program is not in the folder in which it was recorded. */
  readonly root?: MovedRoot
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

/** With divergences if the part that had to be served did not match; then nothing was recorded. */
export interface ContinueReport extends Pick<
  ReplayReport,
  'position' | 'divergences' | 'served' | 'reexecuted' | 'wallMs' | 'exitCode'
> {
  readonly isLive: boolean
  /** The mismatch that made it go live, if any. */
  readonly left?: Divergence
  readonly settled: readonly SettledDoubt[]
  /** Set if steps were pinned. */
  readonly pinned?: PinnedReport | undefined
  /** Set if the plan has rules for live requests. */
  readonly live?: LiveReport | undefined
  /** From opening the tape to going live, or to the end if it never did. */
  readonly servedMs: number
}

/** Repeats a recorded run with its own answers in another order. */
export interface ChaosTask {
  readonly mode: 'chaos'
  readonly source: string
  readonly order: OrderOptions
  readonly tape: string
  readonly id: string
  readonly name: string
  /** File for the `ChaosReport`. */
  readonly report: string
}

/**
 * Report of a process that received its answers in another order. With divergences if it was
 * stopped at a request that is not on the tape.
 */
export interface ChaosReport extends Pick<
  ReplayReport,
  'divergences' | 'contacts' | 'wallMs' | 'exitCode'
> {
  /** Number of choices of the next delivery. */
  readonly picks: number
  /** The choices that differ from the recorded order. */
  readonly swaps: readonly Swap[]
  /** Recorded requests that this run did not make, by event. */
  readonly unasked: readonly { readonly seq: number; readonly what: string }[]
  /** Operations that were open at its end and have no further parts on the tape. */
  readonly cutShort: readonly { readonly seq: number; readonly what: string }[]
}

export interface ReplayReport {
  readonly events: number
  /** Number of events that were served. */
  readonly position: number
  readonly served: number
  readonly reexecuted: number
  /** Attempts to reach the outside, by kind. All were blocked, and there should be none. */
  readonly contacts: Readonly<Record<string, number>>
  readonly divergences: readonly Divergence[]
  readonly wallMs: number
  /** True if the tape ended before the program did, because the recording was cut off. */
  readonly cutOff: boolean
  readonly exitCode: number
  /**
   * Variables and files for which the program got a placeholder, because the recorded secret is not
   * available.
   */
  readonly placeholders?: readonly string[]
  /** Call site of each drawn value, by event; those of libraries are missing. */
  readonly drawSites?: Readonly<Record<number, string>>
  /** How the program itself ended; missing if the replay stopped it. */
  readonly end?: { readonly exitCode: number; readonly error?: RecordedError }
}

export const TASK_VARIABLE = 'RETAKE_SESSION'

/** Preloads that Node was started without, to be loaded inside the run. Passed in `RETAKE_PRELOADS`. */
export interface DeferredPreloads {
  readonly modules: readonly Preload[]
  /** Flags as the user gave them. */
  readonly execArgv: readonly string[]
  /** `NODE_OPTIONS` as the user set it, which children of the agent inherit. */
  readonly nodeOptions?: string
}

export const PRELOADS_VARIABLE = 'RETAKE_PRELOADS'
