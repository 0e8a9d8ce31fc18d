import { statePath, type CapturedVariable } from '@retake/tape'
import type { StateView } from '../../../model/state-view.js'

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
