import {
  type CapturedState,
  type CapturedVariable,
  type RunView,
  stateDifference,
  statePath,
} from '@retake/tape'

export interface StateView {
  readonly step: string
  /** False if no line ran for this answer alone; then the shown line ran for a later one. */
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
  /** Undefined if no earlier state was captured. */
  readonly comparedWith: string | undefined
  /** True if concurrent lanes captured other steps in between. */
  readonly sameLane?: boolean
  readonly changes: readonly {
    /** For example `main.cart.items[2].price`. */
    readonly path: string
    readonly before?: unknown
    readonly after?: unknown
  }[]
}

/**
 * The state at a step, if captured. Compared with the previous state in its lane or in the lane that it
 * branched off, because concurrent lanes have their own variables; if that is unknown, with the
 * previous state. `states` are in the order of capture.
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

/** Names of changed variables. For a recursive function, only the innermost frame is compared. */
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
