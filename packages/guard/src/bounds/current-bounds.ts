import { type BoundaryCheck, currentCheck, lookFirst, type Undo } from '@retake/engine/hook'
import type { CallBounds } from './call-bounds.js'

/** The boundary check of guarded calls. Only guards create checks. */
export interface BoundedCheck extends BoundaryCheck {
  /** The current calls, innermost last. All of them must allow an operation. */
  readonly bounds: readonly CallBounds[]
}

const UNBOUND: readonly CallBounds[] = []

/** The bounds of the current guarded calls; empty outside of tools. */
export const currentBounds = (): readonly CallBounds[] =>
  (currentCheck() as BoundedCheck | undefined)?.bounds ?? UNBOUND

export const checkFirst = (
  target: object,
  method: string,
  check: (bounds: CallBounds, args: readonly unknown[]) => void,
): Undo =>
  lookFirst(target, method, (args) => {
    for (const each of currentBounds()) check(each, args)
  })

/** The error that a check throws; undefined if there is none. */
export function refusalIn(check: () => void): Error | undefined {
  try {
    check()
    return undefined
  } catch (refusal) {
    return refusal as Error
  }
}
