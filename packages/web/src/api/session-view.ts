import type { StateView } from '../model/state-view.js'

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
