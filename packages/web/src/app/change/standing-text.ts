import type { Standing } from './standing.js'

/** Where a program is held, or is going to be, in a few words. */
export function standingText({ phase, goal, position }: Standing): string {
  if (phase === 'opening' || phase === 'moving')
    return goal === undefined ? 'replaying…' : `replaying to step ${goal}…`
  if (position === undefined || position.kind === 'start') return 'at the start'
  if (position.kind === 'stop') return `standing at step ${position.step}`
  return position.step === undefined ? 'at the end' : `at the end, after step ${position.step}`
}
