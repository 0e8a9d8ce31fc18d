import type { RunCard, RunComparison, BranchDetails, CapturedState, ParentLink } from '@retake/tape'
import type { RunStatus } from '@retake/tape/present'
import type { ViewerRoute } from '@retake/runner/command-line'
import type { Explained, UnreadableRun, SourceExcerpt } from '../model/run-source.js'
import type { RunModel } from '../model/run-model.js'
import type { StateView } from '../model/state-view.js'

/**
 * Access to the runs of a project folder or of a team's storage. Errors with a `code` are shown to
 * the user unchanged.
 */
export interface RunRepository {
  readonly name: string
  /** URL template that opens a file in an editor: `{file}`, `{line}` and `{column}`. */
  readonly editor?: string
  /** Page of the mounting server that lists these runs. Replaces the viewer's own list. */
  readonly parent?: ParentPage
  /** Newest first. */
  runs(): Promise<readonly (RunCard | UnreadableRun)[]>
  /** Opens the current state of a run, which may still be recorded. Throws if it is gone. */
  open(id: string): Promise<OpenRun>
  watch(notify: (change: RepositoryChange) => void): () => void
  branches(id: string): Promise<BranchNodeView>
  compare(a: string, b: string): Promise<RunComparison>
  /** Tabs and panels of installed capabilities: blame, fix, trials, approvals. */
  readonly tabs: readonly string[]
  /** Routes of installed capabilities below `/api`. */
  readonly routes?: readonly ViewerRoute[]
  /** Missing if nothing can be executed. */
  readonly actions?: RunActions
  close?(): Promise<void>
}

export interface ParentPage {
  readonly title: string
  readonly href: string
  /** URL template of a page about a run: `{run}`. The open step is added as `?step=`. */
  readonly run?: { readonly title: string; readonly href: string }
}

export interface OpenRun {
  readonly model: RunModel
  readonly abilities: Abilities
  /** Captured variables in order; empty if they cannot be read. */
  states(): readonly CapturedState[]
  /** A captured state compared with the previous one. Throws if it cannot be read. */
  state(label: string): StateView | undefined
  source(site: string): SourceExcerpt | undefined
  /** What the capability of a tab found about the run. Throws if it cannot be read. */
  findings?(tab: string): unknown
}

/** For each action, true or the reason why it is not possible. */
export interface Abilities {
  readonly fork: true | string
  readonly rerun: true | string
  readonly step: true | string
}

export type RepositoryChange =
  | { readonly type: 'runs' }
  | {
      readonly type: 'grew'
      readonly run: string
      readonly events: number
      readonly status: RunStatus
    }
  | { readonly type: 'gone'; readonly run: string }
  /** A search for causes or fixes has finished. */
  | { readonly type: 'findings'; readonly tab: string; readonly run: string }
  | { readonly type: 'job'; readonly job: Job }

/** A run and its branches, oldest first. */
export interface BranchNodeView {
  readonly id: string
  readonly name: string
  readonly status?: RunStatus
  readonly exitCode?: number
  readonly branch?: BranchDetails
  readonly parent?: ParentLink
  /** Origin of the run: `fork at step 4`, `rerun`, `recorded`. */
  readonly how?: string
  readonly edits?: readonly string[]
  readonly steps?: number
  readonly startedAt?: number
  readonly durationMs?: number
  readonly costUsd?: number
  /** The last printed line, often the result. */
  readonly lastLine?: string
  readonly facts?: BranchFactsView
  readonly error?: Explained
  readonly branches: readonly BranchNodeView[]
  /** Only on the root: unreadable tapes that may be branches. */
  readonly unreadable?: readonly string[]
}

export interface BranchFactsView {
  readonly served: number
  readonly lost: number
  readonly live: number
  readonly savedRequests: number
  readonly savedTokens: number
  /** Missing if a price is unknown, like `paidUsd`. */
  readonly savedUsd?: number
  readonly savedMs: number
  readonly paidRequests: number
  readonly paidTokens: number
  readonly paidUsd?: number
}

/** Actions that execute programs: fork, rerun, debug. */
export interface RunActions {
  editable(run: string, at: string): Promise<Editable>
  fork(run: string, request: ForkRequest): Promise<Job>
  rerun(run: string, options: { readonly name?: string }): Promise<Job>
  /** Replays the run and writes a test into the project. Throws if the test would fail. */
  writeTest(run: string): Promise<WrittenTestFile>
  /** Stops the process of a job. Its recording remains. */
  stop(job: string): Promise<void>
  jobs(): readonly Job[]
  /** Starts a debug session, which pauses the program at a step of the run. */
  openSession(run: string): Promise<OpenedSession>
  /** Moves run one after another. A move that is aborted before its turn is skipped. */
  move(
    session: string,
    to: Move,
    options?: { readonly signal?: AbortSignal },
  ): Promise<SessionPosition>
  evaluate(session: string, expression: string): Promise<SessionValue>
  /** Ends the processes of a session. Idempotent. */
  closeSession(session: string): Promise<void>
}

export interface WrittenTestFile {
  readonly file: string
  readonly command: string
}

/** The change of a fork: to the answer, to the request, or none (the request is sent again). */
export interface ForkRequest {
  /** Label of a step; `e17` means event 17, for a clock or random value. */
  readonly at: string
  /** Changes to the parsed answer or result, by path. */
  readonly set?: Readonly<Record<string, unknown>>
  /** Changes to the request or the arguments, by path. */
  readonly request?: Readonly<Record<string, unknown>>
  /** The whole edited answer, in the form that `editable` returned. */
  readonly response?: string
  /** The whole edited request. Keys may be added and removed. */
  readonly requestText?: string
  readonly status?: number
  readonly tail?: 'live' | 'offline'
  readonly name?: string
  readonly force?: boolean
}

export interface Editable {
  readonly answer?: EditableText
  readonly request?: EditableText
  readonly whyNoAnswer?: string
  readonly whyNoRequest?: string
}

export interface EditableText {
  readonly form: 'json' | 'text'
  readonly text: string
  /** `result` and `error`: the outcome of a tool. `base64`: bytes that are not text. */
  readonly kind: 'json' | 'text' | 'base64' | 'result' | 'error' | 'value'
  /** HTTP status of an answer. */
  readonly status?: number
  /** True if the answer was streamed. The edited answer is streamed too. */
  readonly streamed?: boolean
}

export interface Job {
  readonly id: string
  readonly kind: 'fork' | 'rerun'
  readonly parent: string
  /** The branch that it writes. Can be opened once `written` is true. */
  readonly run: string
  readonly at?: string
  readonly name?: string
  /** `done`: the program ended, with any exit code. `failed`: it diverged or could not start. */
  readonly state: 'waiting' | 'running' | 'done' | 'failed' | 'stopped'
  /** True if the branch is on disk, because something was recorded after the fork. */
  readonly written: boolean
  /** True if a rerun was served completely, so there is no branch. */
  readonly identical?: boolean
  readonly startedAt: number
  readonly endedAt?: number
  readonly exit?: { readonly code: number; readonly signal?: string }
  readonly facts?: BranchFactsView
  readonly error?: Explained
  /** The divergence. For a rerun that went live, where and why it left the tape. */
  readonly divergence?: DivergenceView
  readonly summary?: string
}

export interface DivergenceView {
  readonly seq: number
  readonly step?: string
  readonly summary: string
  readonly explanation: string
  readonly site?: string
  readonly mismatches: readonly {
    readonly field: string
    readonly recorded: string
    readonly current: string
  }[]
}

export interface OpenedSession {
  readonly session: string
  readonly steps: number
  /** Source files that changed after the recording. */
  readonly changedSources: readonly string[]
  /** The code that runs, and to which lines refer. */
  readonly code: 'recorded' | 'today'
}

export type Move =
  | { readonly to: 'next' | 'back' | 'next in lane' | 'back in lane' }
  | { readonly to: 'step'; readonly step: string }

/** Where a session is paused. Steps are ordered by their answers. */
export type SessionPosition =
  | { readonly kind: 'start' }
  /** `step` is set if no user code ran after its answer. */
  | { readonly kind: 'end'; readonly step?: string }
  | {
      readonly kind: 'stop'
      readonly step: string
      /** From 0. */
      readonly index: number
      readonly title: string
      /** Compared with the previous position. */
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
  readonly isUser: boolean
  /** True if it awaits the lines above it. */
  readonly isAsync: boolean
}

export interface SessionValue {
  /** If false, `text` is the error that was thrown. */
  readonly ok: boolean
  readonly type: string
  readonly text: string
  readonly json: unknown
  readonly cut?: boolean
}
