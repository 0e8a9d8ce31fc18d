import { type BoundaryCheck, currentCheck } from '@retake/engine/hook'
import type { CallBounds } from '../bounds/call-bounds.js'

/** The check of guarded calls. A guard makes all the checks there are. */
export interface BoundedCheck extends BoundaryCheck {
  /** Of the calls around, the innermost last: all of them have to allow it. */
  readonly bounds: readonly CallBounds[]
}

const UNBOUND: readonly CallBounds[] = []

/** The bounds of the guarded calls in which this happens. Usually none. */
export const currentBounds = (): readonly CallBounds[] =>
  (currentCheck() as BoundedCheck | undefined)?.bounds ?? UNBOUND
