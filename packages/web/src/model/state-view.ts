import { stateDifference } from '@retake/tape'
import type { CapturedState } from '@retake/tape'

/** Variables of the agent after a step, and what has changed since the step before. */
export interface StateView {
  readonly step: string
  /** False when no line ran for the answer alone: this one ran for a later one. */
  readonly isDirect: boolean
  readonly location:
    | { readonly file: string; readonly line: number; readonly column: number }
    | undefined
  readonly source: string | undefined
  readonly frames: readonly {
    readonly name: string
    readonly location: { readonly file: string; readonly line: number; readonly column: number }
    readonly variables: readonly StateVariable[]
  }[]
  /** Compared with the state of this step. */
  readonly comparedWith: string | undefined
  readonly changes: readonly {
    /** For example `main.cart.items[2].price`. */
    readonly path: string
    readonly before?: unknown
    readonly after?: unknown
  }[]
}

export interface StateVariable {
  readonly name: string
  readonly scope: string
  readonly type: string
  /** One line. */
  readonly text: string
  readonly json: unknown
  /** A limit left something out of `json`. */
  readonly cut: boolean
}

/**
 * The state captured at a step, compared with the one captured before it; undefined
 * when there is none. States are in the order they were captured.
 */
export function stateView(states: readonly CapturedState[], label: string): StateView | undefined {
  const place = states.findIndex(({ step }) => step === label)
  const state = states[place]
  return state && compareStates(states[place - 1], state)
}

/** One state, with what is different in it from an earlier one. */
export function compareStates(before: CapturedState | undefined, state: CapturedState): StateView {
  const { step, isDirect, location, source, frames } = state
  return {
    step,
    isDirect,
    location,
    source,
    frames,
    comparedWith: before?.step,
    changes: before === undefined ? [] : stateDifference(before, state),
  }
}
