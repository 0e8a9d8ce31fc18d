import { type BoundaryCheck, currentCheck, lookFirst, type Undo } from '@retake/engine/hook'
import type { CallBounds } from '../bounds/call-bounds.js'

/** The check of guarded calls. Guards create all checks. */
export interface BoundedCheck extends BoundaryCheck {
  /** The enclosing calls, innermost last. All of them have to allow an operation. */
  readonly bounds: readonly CallBounds[]
}

const UNBOUND: readonly CallBounds[] = []

/** The bounds of the current guarded calls. Usually none. */
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
