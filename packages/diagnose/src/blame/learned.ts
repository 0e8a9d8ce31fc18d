import type { RaisedRisk } from './risk-curve.js'
import { includesAll, union, type StepSet } from './step-set.js'

/** What a search holds for true so far. */
export class Learned {
  /** The first is what made the run fail; each is proven. */
  readonly causes: StepSet[] = []
  /** Steps that only carry on what the first cause made of them. */
  changed: StepSet = []
  /** Without causes and changed steps it does not fail: the others are cleared. */
  clearsOthers = false
  /** A step that made the failure likely before the first cause was complete. */
  raisedRisk: RaisedRisk | undefined
  /** Found step by step, because causes undo each other. */
  isOneByOne = false
  /** What it says of other coalitions was tried, and held. */
  isAudited = false
  /** Of the first cause, where its members need not have the same. */
  shares: readonly number[] | undefined

  constructor(
    first: StepSet,
    /** At most how likely the tests that named the first cause are wrong. */
    public errorRate: number,
  ) {
    this.causes.push(first)
  }

  /** Every step of a cause. */
  named(): StepSet {
    return this.causes.reduce<StepSet>(union, [])
  }

  /** Whether keeping these steps should fail. */
  predicts(kept: StepSet): boolean {
    return this.causes.some((cause) => includesAll(kept, cause))
  }
}
