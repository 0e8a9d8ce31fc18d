import type { BranchDetails, ParentLink } from '@retake/tape'
import type { Explained, RunCard, RunStatus, UnreadableRun } from '../model/run-head.js'
import type { RunModel } from '../model/run-model.js'
import type { SourceExcerpt } from '../model/run-parts.js'
import type { StateView } from '../model/state-view.js'

/**
 * Where the runs of a viewer live: the folder of a project, or a team's storage.
 * The API asks a home; what it throws with a `code` is shown to the user as it is.
 */
export interface Home {
  /** What the runs belong to, for the title of the page. */
  readonly name: string
  /** Newest first. */
  runs(): Promise<readonly (RunCard | UnreadableRun)[]>
  /** As it is now: a run that is being recorded is another one the next time. Throws when it is gone. */
  open(id: string): Promise<OpenRun>
  /** Tells of changes until the answer is called. */
  watch(tell: (change: HomeChange) => void): () => void
  branches(id: string): Promise<BranchNodeView>
  compare(a: string, b: string): Promise<RunComparison>
  /** Missing where nothing can be run. */
  readonly changes?: HomeChanges
}

export interface OpenRun {
  readonly model: RunModel
  /** What can be done with it here, and why not. */
  readonly abilities: Abilities
  state(label: string): StateView | undefined
  source(site: string): SourceExcerpt | undefined
}

/** For each thing: true, or the reason why not. */
export interface Abilities {
  readonly fork: true | string
  readonly rerun: true | string
  readonly step: true | string
}

export type HomeChange =
  /** Runs have come or gone. */
  | { readonly type: 'runs' }
  | {
      readonly type: 'grew'
      readonly run: string
      readonly events: number
      readonly status: RunStatus
    }
  | { readonly type: 'gone'; readonly run: string }
  | { readonly type: 'job'; readonly job: Job }

/** A fork or rerun that was started from the viewer. */
export interface Job {
  readonly id: string
  readonly kind: 'fork' | 'rerun'
  readonly parent: string
  /** The branch it writes. */
  readonly run: string
  readonly state: 'running' | 'done' | 'failed'
  /** Where it left the tape, diverged, or could not be started. */
  readonly error?: Explained
  /** What it came to, in a line. */
  readonly summary?: string
}

/** A run and what was forked from it, oldest first. */
export interface BranchNodeView {
  readonly id: string
  readonly name: string
  readonly status?: RunStatus
  readonly exitCode?: number
  readonly branch?: BranchDetails
  readonly parent?: ParentLink
  readonly steps?: number
  readonly startedAt?: number
  /** What the branch saved and paid; see `retake branches`. */
  readonly facts?: {
    readonly served: number
    readonly lost: number
    readonly live: number
    readonly savedUsd?: number
    readonly paidUsd?: number
  }
  readonly error?: Explained
  readonly branches: readonly BranchNodeView[]
}

/** What a fork changes: its answer, the question, or nothing (asked again live). */
export interface ForkRequest {
  /** Label of a step. */
  readonly at: string
  /** Changes of the parsed answer or result, by path. */
  readonly set?: Readonly<Record<string, unknown>>
  /** Changes of the request or the arguments, by path. */
  readonly request?: Readonly<Record<string, unknown>>
  /** The whole answer, as text. */
  readonly response?: string
  readonly status?: number
  readonly tail?: 'live' | 'offline'
  readonly name?: string
  readonly force?: boolean
}

/** What can be edited of a step, as text: JSON where it is JSON. */
export interface Editable {
  readonly answer?: { readonly form: 'json' | 'text'; readonly text: string }
  readonly request?: { readonly form: 'json' | 'text'; readonly text: string }
}

export interface HomeChanges {
  editable(run: string, at: string): Promise<Editable>
  fork(run: string, request: ForkRequest): Promise<Job>
  rerun(run: string, options: { readonly name?: string }): Promise<Job>
  /** Stops a job's process; what it recorded stays. */
  stop(job: string): Promise<void>
  jobs(): readonly Job[]
  /** A place in the run that one can move, with the program really standing there. */
  openSession(run: string): Promise<{ readonly session: string }>
  move(session: string, to: Move): Promise<SessionPosition>
  evaluate(session: string, expression: string): Promise<SessionValue>
  closeSession(session: string): Promise<void>
}

export type Move =
  | { readonly to: 'next' | 'back' | 'next in lane' | 'back in lane' }
  | { readonly to: 'step'; readonly step: string }

/** Where a session stands now. */
export type SessionPosition =
  | { readonly kind: 'start' }
  | { readonly kind: 'end'; readonly step?: string }
  | { readonly kind: 'stop'; readonly step: string; readonly state: StateView }

export interface SessionValue {
  readonly ok: boolean
  readonly type: string
  readonly text: string
  readonly json: unknown
}

/** Two runs side by side. Rows are pairs of steps, in order; one side is missing where only the other has it. */
export interface RunComparison {
  readonly a: RunCard
  readonly b: RunCard
  readonly sameUntil?: string
  readonly rows: readonly ComparedStep[]
  readonly totals: readonly { readonly name: string; readonly a: string; readonly b: string }[]
}

export interface ComparedStep {
  readonly a?: string
  readonly b?: string
  readonly title: string
  readonly kind: string
  readonly verdict: 'same' | 'changed' | 'only a' | 'only b'
  /** What differs, each as two texts. */
  readonly differences: readonly {
    readonly what: string
    readonly a: string
    readonly b: string
  }[]
}
