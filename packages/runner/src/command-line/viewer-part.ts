import type { Tape } from '@retake/tape'
import type { RunStore } from '../runs/run-store.js'

/** What a capability adds to the viewer, which knows no capability. */
export interface ViewerPart {
  /** Tabs and panels of the page that need this capability: blame, fix, trials, approvals. */
  readonly tabs: readonly string[]
  /** Findings about runs of a folder, by the name of their tab. */
  readonly findings?: (folder: string) => Readonly<Record<string, RunFindings>>
  readonly routes?: (runs: ViewedRuns) => readonly ViewerRoute[]
}

export interface RunFindings {
  /** The viewer reads again when one of these files changes. */
  readonly filesOf: (tape: Tape) => readonly string[]
  /** Undefined if there are none. Throws if they cannot be read. */
  readonly read: (tape: Tape, options: { readonly withSource: boolean }) => unknown
}

/** The folder that a viewer shows. */
export interface ViewedRuns {
  readonly store: RunStore
  open(run: string): Tape
  /** Like `open`, but refuses a run that is still being recorded. */
  openFinished(run: string): Tape
}

/** A route below `/api` of the viewer. */
export interface ViewerRoute {
  readonly method: 'get' | 'post'
  /** `:name` is a parameter. */
  readonly path: string
  /** Fields of the JSON body. Missing: no body. */
  readonly body?: Readonly<Record<string, BodyField>>
  /** The answer, as JSON. */
  answer(request: ViewerRequest): unknown
}

export interface BodyField {
  /** Continues "is not": `the id of a call`. */
  readonly expected: string
  fits(value: unknown): boolean
  readonly isOptional?: true
}

export interface ViewerRequest {
  readonly params: Readonly<Record<string, string>>
  readonly body: Readonly<Record<string, unknown>>
}
