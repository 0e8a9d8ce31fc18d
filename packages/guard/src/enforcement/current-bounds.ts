import { bindCheck, type BoundaryCheck, currentCheck } from '@retake/engine/hook'
import type { CallBounds } from '../bounds/call-bounds.js'

/** The check of guarded calls. A guard makes all the checks there are. */
export interface BoundedCheck extends BoundaryCheck {
  /** Of the calls around, the innermost last: all of them have to allow it. */
  readonly bounds: readonly CallBounds[]
  /** The same once the calls are over: see `CallBounds.orAfter`. */
  orAfter(): BoundedCheck
}

const UNBOUND: readonly CallBounds[] = []

/** The bounds of the guarded calls in which this happens. Usually none. */
export const currentBounds = (): readonly CallBounds[] =>
  (currentCheck() as BoundedCheck | undefined)?.bounds ?? UNBOUND

/**
 * Binds a listener, which others may call long after the call: what it is part of may
 * be theirs by then. It stays within the scopes, and is refused everything only when
 * the call was given up.
 */
export const bindListener = (): (<T>(work: () => T) => T) =>
  bindCheck((check) => (check as BoundedCheck).orAfter())
