/** An operation starts, or something is delivered for it, in the order of the tape. */
export type TraceEntry =
  | {
      readonly type: 'start'
      readonly op: number
      /**
       * `step`: has a number. `instant`: a step without duration (a mark, a synchronous process).
       * `background`: may stay open forever (sockets, intervals) and says nothing about lanes.
       */
      readonly role: 'step' | 'instant' | 'other' | 'background'
    }
  | { readonly type: 'delivery'; readonly op: number; readonly seq?: number }

type Role = Extract<TraceEntry, { readonly type: 'start' }>['role']

/** One line of concurrent work inside a run. Lane 0 is the run itself. */
export interface Lane {
  readonly id: number
  /** The lane it branched off. */
  readonly parent?: number
  /** Steps in the order they started, by the seq of their event. */
  readonly steps: number[]
}

export interface LaneOptions {
  /**
   * Called if the order alone is not enough: true if step `op` continues what the `earlier` steps
   * of a lane began, instead of following after all lanes have joined.
   */
  readonly continues?: (op: number, earlier: readonly number[]) => boolean
}

export interface LaneAssignment {
  readonly lanes: readonly Lane[]
  readonly laneOf: ReadonlyMap<number, number>
  /** Steps whose answer made the agent start something else. */
  readonly causes: ReadonlySet<number>
}

/**
 * Finds the lines of concurrent work by reading alone.
 *
 * Between two deliveries JavaScript is deterministic, so whatever starts was caused by the delivery
 * directly before it, and belongs to the lane of the delivered operation. Three rules for steps
 * follow:
 *
 * 1. A step belongs to the lane of its cause.
 * 2. If another step of that lane is still open, the work has fanned out: the step opens a new
 *    lane, a child of that one. The step whose own delivery is the cause does not count as open,
 *    because its reader has moved on.
 * 3. If nothing else is in progress in any other lane, the lanes have joined, and the step returns
 *    to lane 0, unless `continues` knows that it is the last branch continuing alone.
 *
 * Not promised: a lane is a line of causes, not a function of the program. Two branches that always
 * wait for each other look like one.
 */
export const assignLanes = (
  trace: readonly TraceEntry[],
  options: LaneOptions = {},
): LaneAssignment => new LaneReader(trace, options)

class LaneReader implements LaneAssignment {
  readonly lanes: Lane[] = [{ id: 0, steps: [] }]
  readonly laneOf = new Map<number, number>()
  readonly causes = new Set<number>()
  readonly #options: LaneOptions
  readonly #lastDelivery = new Map<number, number>()
  /** Operations in progress by lane, steps and others separately. */
  readonly #openSteps = new Map<number, Set<number>>()
  readonly #openOthers = new Map<number, Set<number>>()
  /** Steps without any answer on the tape; each is open until something else happens. */
  #unanswered: { lane: number; op: number }[] = []
  #cause: number | undefined
  #causeLane = 0
  /** Lanes with a lower number have joined. */
  #joinedBelow = 0

  constructor(trace: readonly TraceEntry[], options: LaneOptions) {
    this.#options = options
    for (const [index, entry] of trace.entries()) {
      if (entry.type === 'delivery') this.#lastDelivery.set(entry.op, index)
    }
    for (const [index, entry] of trace.entries()) {
      if (entry.type === 'start') this.#start(entry.op, entry.role)
      else this.#deliver(entry.op, index)
    }
  }

  #start(op: number, role: Role): void {
    const causeLane = this.#causeLane
    const isCounted = role === 'step' || role === 'instant'
    const lane = isCounted ? this.#pickLane(op, role, causeLane) : causeLane
    this.laneOf.set(op, lane)
    if (isCounted) {
      this.lanes[lane]?.steps.push(op)
      if (this.#cause !== undefined) this.causes.add(this.#cause)
    }
    if (role === 'step') {
      addTo(this.#openSteps, lane, op)
      if (!this.#lastDelivery.has(op)) this.#unanswered.push({ lane, op })
    } else if (role === 'other' && this.#lastDelivery.has(op)) {
      // Nothing waits for an operation that is never delivered, such as a cleared timer.
      addTo(this.#openOthers, lane, op)
    }
  }

  #pickLane(op: number, role: Role, causeLane: number): number {
    if (role === 'step' && this.#isOpen(this.#openSteps, causeLane)) {
      const id = this.lanes.length
      this.lanes.push({ id, parent: causeLane, steps: [] })
      return id
    }
    if (causeLane === 0 || this.#isAnotherLaneBusy(causeLane)) return causeLane
    const earlier = this.lanes[causeLane]?.steps ?? []
    const continuesLane = this.#options.continues?.(op, earlier) === true
    if (continuesLane) return causeLane
    // Operations that were started in those lanes earlier and fire now also come after the join.
    this.#joinedBelow = this.lanes.length
    this.#causeLane = 0
    return 0
  }

  #isOpen(open: ReadonlyMap<number, ReadonlySet<number>>, lane: number): boolean {
    const ops = open.get(lane)
    if (ops === undefined) return false
    return ops.size > (this.#cause !== undefined && ops.has(this.#cause) ? 1 : 0)
  }

  #isAnotherLaneBusy(lane: number): boolean {
    // Only lanes with open operations are in the maps: the first one decides.
    for (const open of [this.#openSteps, this.#openOthers])
      for (const id of open.keys()) if (id !== lane && this.#isOpen(open, id)) return true
    return false
  }

  #deliver(op: number, index: number): void {
    this.#cause = op
    const lane = this.laneOf.get(op) ?? 0
    this.#causeLane = lane < this.#joinedBelow ? 0 : lane
    for (const step of this.#unanswered) removeFrom(this.#openSteps, step.lane, step.op)
    this.#unanswered = []
    if (this.#lastDelivery.get(op) !== index) return
    removeFrom(this.#openSteps, lane, op)
    removeFrom(this.#openOthers, lane, op)
  }
}

const addTo = (sets: Map<number, Set<number>>, key: number, value: number): void => {
  const known = sets.get(key)
  if (known === undefined) sets.set(key, new Set([value]))
  else known.add(value)
}

const removeFrom = (sets: Map<number, Set<number>>, key: number, value: number): void => {
  const known = sets.get(key)
  known?.delete(value)
  if (known?.size === 0) sets.delete(key)
}
