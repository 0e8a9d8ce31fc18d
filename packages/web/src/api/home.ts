import type { BranchDetails, CapturedState, ParentLink } from '@retake/tape'
import type { RunBlame } from '../model/run-blame.js'
import type { RunStatus } from '@retake/tape/present'
import type { Explained, RunCard, UnreadableRun } from '../model/run-head.js'
import type { RunModel } from '../model/run-model.js'
import type { SourceExcerpt } from '../model/run-source.js'
import type { StateView } from '../model/state-view.js'

/**
 * Where the runs of a viewer live: the folder of a project, or a team's storage.
 * The API asks a home; what it throws with a `code` is shown to the user as it is.
 */
export interface RunRepository {
  /** What the runs belong to, for the title of the page. */
  readonly name: string
  /** Newest first. */
  runs(): Promise<readonly (RunCard | UnreadableRun)[]>
  /** As it is now: a run that is being recorded is another one the next time. Throws when it is gone. */
  open(id: string): Promise<OpenRun>
  /** Tells of changes until the answer is called. */
  watch(notify: (change: RepositoryChange) => void): () => void
  branches(id: string): Promise<BranchNodeView>
  compare(a: string, b: string): Promise<RunComparison>
  /** Missing where nothing can be run. */
  readonly actions?: RunActions
  /** Ends everything that was started for it. */
  close?(): Promise<void>
}

export interface OpenRun {
  readonly model: RunModel
  /** What can be done with it here, and why not. */
  readonly abilities: Abilities
  /** Variables that were captured, in order; none when they were not, or cannot be read. */
  states(): readonly CapturedState[]
  /** One of them beside the one before it. Throws when they cannot be read. */
  state(label: string): StateView | undefined
  source(site: string): SourceExcerpt | undefined
  /** What a search for the causes of its failure came to, if there was one. Throws when it cannot be read. */
  blame?(): RunBlame | undefined
}

/** For each thing: true, or the reason why not. */
export interface Abilities {
  readonly fork: true | string
  readonly rerun: true | string
  readonly step: true | string
}

export type RepositoryChange =
  /** Runs have come or gone. */
  | { readonly type: 'runs' }
  | {
      readonly type: 'grew'
      readonly run: string
      readonly events: number
      readonly status: RunStatus
    }
  | { readonly type: 'gone'; readonly run: string }
  /** A search for the causes of its failure came to something. */
  | { readonly type: 'blame'; readonly run: string }
  | { readonly type: 'job'; readonly job: Job }

/** A run and what was forked from it, oldest first. */
export interface BranchNodeView {
  readonly id: string
  readonly name: string
  readonly status?: RunStatus
  readonly exitCode?: number
  readonly branch?: BranchDetails
  readonly parent?: ParentLink
  /** How it came to be, in words: `fork at step 4`, `rerun`, `recorded`. */
  readonly how?: string
  /** What was changed, each in a line. */
  readonly edits?: readonly string[]
  readonly steps?: number
  readonly startedAt?: number
  readonly durationMs?: number
  readonly costUsd?: number
  /** The last line it printed: often what it came to. */
  readonly lastLine?: string
  /** What the branch saved and paid; see `retake branches`. */
  readonly facts?: BranchFactsView
  /** Why its tape cannot be read. */
  readonly error?: Explained
  readonly branches: readonly BranchNodeView[]
  /** At the first run only: tapes of the home that cannot be read, and may be branches of it. */
  readonly unreadable?: readonly string[]
}

/** What a branch got from its parent, and what it paid itself. */
export interface BranchFactsView {
  /** Steps served from the parent, lost on the way, and live. */
  readonly served: number
  readonly lost: number
  readonly live: number
  readonly savedRequests: number
  readonly savedTokens: number
  /** Missing when a price is not known; the same for `paidUsd`. */
  readonly savedUsd?: number
  readonly savedMs: number
  readonly paidRequests: number
  readonly paidTokens: number
  readonly paidUsd?: number
}

/** How a file of a branch differs from the disk as it is now. */
export interface BranchFile {
  readonly path: string
  readonly kind: 'added' | 'changed' | 'deleted'
  readonly type: 'file' | 'folder' | 'link'
  readonly sizeBefore?: number
  readonly sizeAfter?: number
  /** The two contents, where they are text and not too long. */
  readonly before?: string
  readonly after?: string
}

/** What can be done with the runs of a home where programs can be run: fork, rerun, stand at a step, decide. */
export interface RunActions {
  editable(run: string, at: string): Promise<Editable>
  fork(run: string, request: ForkRequest): Promise<Job>
  rerun(run: string, options: { readonly name?: string }): Promise<Job>
  /** Stops a job's process; what it recorded stays. */
  stop(job: string): Promise<void>
  jobs(): readonly Job[]
  /** A place in the run that one can move, with the program really standing there. */
  openSession(run: string): Promise<OpenedSession>
  /** Moves are done one after another; one whose signal is aborted before its turn is left out. */
  move(
    session: string,
    to: Move,
    options?: { readonly signal?: AbortSignal },
  ): Promise<SessionPosition>
  evaluate(session: string, expression: string): Promise<SessionValue>
  /** Its processes end. One that is closed already is no error. */
  closeSession(session: string): Promise<void>
  /** What a branch wrote to files: they lie beside its tape, and the disk is as it was. */
  branchFiles(run: string): Promise<readonly BranchFile[]>
  /** Guarded calls of a run that wait for somebody to decide, the oldest first. */
  approvals(run: string): Promise<readonly WaitingApproval[]>
  /** Throws when the call does not wait any more, or is not the one that was shown. */
  decide(run: string, decision: ApprovalDecisionRequest): Promise<void>
}

/** What a fork changes: its answer, the question, or nothing (asked again live). */
export interface ForkRequest {
  /** Label of a step; `e17` means event 17, for a clock or random value. */
  readonly at: string
  /** Changes of the parsed answer or result, by path. */
  readonly set?: Readonly<Record<string, unknown>>
  /** Changes of the request or the arguments, by path. */
  readonly request?: Readonly<Record<string, unknown>>
  /** The whole answer as edited, in the form in which `editable` gave it. The branch says what differs. */
  readonly response?: string
  /** The same of the request; keys may come and go. */
  readonly requestText?: string
  readonly status?: number
  readonly tail?: 'live' | 'offline'
  readonly name?: string
  readonly force?: boolean
}

/** What can be edited of a step, as text: JSON where it is JSON. */
export interface Editable {
  readonly answer?: EditableText
  readonly request?: EditableText
  /** Why there is no answer to edit, or none that can be. */
  readonly whyNoAnswer?: string
  readonly whyNoRequest?: string
}

export interface EditableText {
  readonly form: 'json' | 'text'
  readonly text: string
  /** `result` and `error`: how a tool ended. `base64`: bytes that are no text. */
  readonly kind: 'json' | 'text' | 'base64' | 'result' | 'error' | 'value'
  /** Of an answer that came over HTTP. */
  readonly status?: number
  /** It came in pieces, and will again: what is edited is what they add up to. */
  readonly streamed?: boolean
}

/** A guarded call that waits for approval. */
export interface WaitingApproval {
  /** Names exactly what is shown here; goes back with the decision. */
  readonly id: string
  readonly tool: string
  /** The arguments as JSON, in full. */
  readonly args: string
  readonly guard: string
  readonly rule: string
  readonly why: string
  /** Its event, which is a step of the run. */
  readonly event: number
  /** Epoch milliseconds. */
  readonly askedAt: number
  readonly expiresAt: number
}

export interface ApprovalDecisionRequest {
  readonly id: string
  readonly approved: boolean
  readonly reason?: string
}

/** A fork or rerun that was started from the viewer. */
export interface Job {
  readonly id: string
  readonly kind: 'fork' | 'rerun'
  readonly parent: string
  /** The branch it writes. It cannot be opened before `written` says so. */
  readonly run: string
  /** Label of the step it was forked at. */
  readonly at?: string
  readonly name?: string
  /**
   * `waiting`: others run, it is started after them. `done`: the program came to an
   * end, whatever its exit code. `failed`: it diverged, or could not be started.
   */
  readonly state: 'waiting' | 'running' | 'done' | 'failed' | 'stopped'
  /** The branch is on disk: something was recorded that is not its parent's. */
  readonly written: boolean
  /** Set when a rerun was served from beginning to end: there is no branch. */
  readonly identical?: boolean
  readonly startedAt: number
  readonly endedAt?: number
  readonly exit?: { readonly code: number; readonly signal?: string }
  readonly facts?: BranchFactsView
  /** Why it diverged, or could not be started. */
  readonly error?: Explained
  /** Where it diverged; or, of a rerun that went live, where and why it left the tape. */
  readonly divergence?: DivergenceView
  /** What it came to, in a line. */
  readonly summary?: string
}

/** The first point where a program did something else than the tape says. */
export interface DivergenceView {
  /** The event of the tape. */
  readonly seq: number
  /** The step it belongs to. */
  readonly step?: string
  /** One line: what differs. */
  readonly summary: string
  /** What the tape says and what the program did. */
  readonly explanation: string
  /** `file:line:column` in the agent's code. */
  readonly site?: string
  /** Texts: JSON where it is no text. */
  readonly mismatches: readonly {
    readonly field: string
    readonly recorded: string
    readonly current: string
  }[]
}

/** Two runs side by side. Rows are pairs of steps, in order; one side is missing where only the other has it. */
export interface RunComparison {
  readonly a: RunCard
  readonly b: RunCard
  readonly equal: boolean
  /** What they have in common by descent, in words. */
  readonly descent?: string
  /** Label, in the first run, of the last step before anything differs. */
  readonly sameUntil?: string
  /** The first difference, in words. */
  readonly first?: string
  readonly counts: {
    readonly same: number
    readonly changed: number
    readonly moved: number
    readonly onlyA: number
    readonly onlyB: number
  }
  readonly rows: readonly ComparedStep[]
  readonly totals: readonly ComparedTotal[]
  /** Lines that differ in what the two printed. */
  readonly console: readonly ComparedLine[]
  /** Exit code, signal, error, what a function returned. */
  readonly outcome: readonly ComparedText[]
}

export interface ComparedStep {
  readonly a?: string
  readonly b?: string
  readonly title: string
  /** Set when the title differs in the second run. */
  readonly titleB?: string
  readonly kind: string
  readonly verdict: 'same' | 'changed' | 'only a' | 'only b'
  /** Both have it, in another order. */
  readonly moved?: boolean
  /** What differs, each as two texts. */
  readonly differences: readonly ComparedText[]
  /** Messages that differ as an earlier step has told, and are only carried along. */
  readonly carried?: number
}

export interface ComparedText {
  /** Where: `answer[0].text`, `args.query`. */
  readonly what: string
  readonly area?: 'messages' | 'tools' | 'requests' | 'output' | 'usage'
  /** Empty where a side has nothing. */
  readonly a: string
  readonly b: string
  readonly form?: 'json' | 'text'
  /** Which side has nothing there. */
  readonly missing?: 'a' | 'b'
  /** A text was too long and is cut. */
  readonly cut?: boolean
}

export interface ComparedLine {
  readonly stream: 'stdout' | 'stderr'
  readonly a?: ComparedPrinted
  readonly b?: ComparedPrinted
}

export interface ComparedPrinted {
  /** From 1. */
  readonly line: number
  readonly text: string
  /** The last step begun by then. */
  readonly step?: string
}

export interface ComparedTotal {
  readonly name: string
  readonly a: string
  readonly b: string
  /** From the first to the second: `+3`, `-$0.02`; missing when they are the same or one is unknown. */
  readonly change?: string
}

export interface OpenedSession {
  readonly session: string
  /** Number of steps it can stand at. */
  readonly steps: number
  /** Files of the agent that were saved after the recording: lines are those of now. */
  readonly changedSources: readonly string[]
}

export type Move =
  | { readonly to: 'next' | 'back' | 'next in lane' | 'back in lane' }
  | { readonly to: 'step'; readonly step: string }

/** Where a session stands now. Steps are in the order of their answers. */
export type SessionPosition =
  | { readonly kind: 'start' }
  /** With a `step` when no code of the user's ran after its answer. */
  | { readonly kind: 'end'; readonly step?: string }
  | {
      readonly kind: 'stop'
      readonly step: string
      /** Place of the step among all, from 0. */
      readonly index: number
      readonly title: string
      /** Compared with where the session stood before. */
      readonly state: StateView
      /** Innermost first. */
      readonly stack: readonly StackLineView[]
    }

export interface StackLineView {
  /** Empty for code outside functions. */
  readonly name: string
  readonly file: string
  readonly line: number
  readonly column: number
  /** The user's own code, not a library's. */
  readonly isUser: boolean
  /** It waits for the lines above it. */
  readonly isAsync: boolean
}

export interface SessionValue {
  /** False: `text` is what it threw. */
  readonly ok: boolean
  readonly type: string
  readonly text: string
  readonly json: unknown
  /** A limit left something out of `json`. */
  readonly cut?: boolean
}
