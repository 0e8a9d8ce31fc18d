import {
  type CapturedState,
  type CapturedVariable,
  type RunView,
  stateDifference,
  statePath,
} from '@retake/tape'

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
    readonly variables: readonly CapturedVariable[]
  }[]
  /** Compared with the state of this step; undefined when none was captured before. */
  readonly comparedWith: string | undefined
  /** Other steps were captured in between, in lanes beside this one. */
  readonly sameLane?: boolean
  readonly changes: readonly {
    /** For example `main.cart.items[2].price`. */
    readonly path: string
    readonly before?: unknown
    readonly after?: unknown
  }[]
}

/**
 * The state captured at a step, compared with the one captured before it in its lane, or
 * in the lane that one branched off: what runs beside it has variables of its own, also
 * where it is the same function. Where that is not known, with the one captured before
 * it. Undefined when there is none. States are in the order they were captured.
 */
export function stateView(
  states: readonly CapturedState[],
  label: string,
  view?: Pick<RunView, 'step' | 'lanes'>,
): StateView | undefined {
  const index = states.findIndex(({ step }) => step === label)
  const state = states[index]
  if (state === undefined) return undefined
  const earlier = states.slice(0, index)
  const inLane = view && lastInLane(earlier, label, view)
  return compareStates(inLane ?? earlier.at(-1), state, {
    sameLane: inLane !== undefined && inLane !== earlier.at(-1),
  })
}

function lastInLane(
  earlier: readonly CapturedState[],
  label: string,
  view: Pick<RunView, 'step' | 'lanes'>,
): CapturedState | undefined {
  const laneOf = (step: string): number | undefined => view.step(step)?.lane
  for (let lane = laneOf(label); lane !== undefined; lane = view.lanes[lane]?.parent) {
    const found = earlier.findLast(({ step }) => laneOf(step) === lane)
    if (found !== undefined) return found
  }
  return undefined
}

/** One state, with what is different in it from an earlier one. */
export function compareStates(
  before: CapturedState | undefined,
  state: CapturedState,
  { sameLane = false }: { readonly sameLane?: boolean } = {},
): StateView {
  const { step, isDirect, location, source, frames } = state
  return {
    step,
    isDirect,
    location,
    source,
    frames,
    comparedWith: before?.step,
    ...(sameLane && { sameLane }),
    changes: before === undefined ? [] : stateDifference(before, state),
  }
}

/**
 * The variables in which something changed. Of a function that is on the stack more
 * than once only the nearest is compared, and only that one can be told to have changed.
 */
export function changedVariables({
  frames,
  changes,
}: Pick<StateView, 'frames' | 'changes'>): Set<CapturedVariable> {
  const changed = new Set<CapturedVariable>()
  const compared = new Set<string>()
  for (const { name: frame, variables } of frames) {
    for (const variable of variables) {
      const whole = statePath(frame, variable)
      if (compared.has(whole)) continue
      compared.add(whole)
      const isIn = changes.some(
        ({ path }) =>
          path.startsWith(whole) &&
          (path.length === whole.length || /[.[]/.test(path[whole.length] ?? '')),
      )
      if (isIn) changed.add(variable)
    }
  }
  return changed
}
