import type { StateView } from '../../../model/state-view.js'

/** The variables in which something changed, as `frame.name`. */
export function changedVariables({ frames, changes }: StateView): Set<string> {
  const changed = new Set<string>()
  for (const { name: frame, variables } of frames) {
    for (const { name } of variables) {
      const whole = `${frame}.${name}`
      const isIn = changes.some(
        ({ path }) =>
          path.startsWith(whole) &&
          (path.length === whole.length || /[.[]/.test(path[whole.length] ?? '')),
      )
      if (isIn) changed.add(whole)
    }
  }
  return changed
}
