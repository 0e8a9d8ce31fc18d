/** How far two people agree: AgentRx labelled some of the hand-crafted runs again. */
import { wilson } from '@retake/lab'

/** @param {readonly import('./who-and-when.mjs').LabelledRun[]} runs @param {Map<string, number>} second */
export function compareLabels(runs, second) {
  const off = runs
    .filter(({ half, id }) => half === 'HC' && second.has(id))
    .map(({ id, label }) => Math.abs(second.get(id) - label))
  const within = (distance) => off.filter((each) => each <= distance).length
  return {
    runs: off.length,
    same: within(0),
    interval: wilson(within(0), off.length),
    within3: within(3),
  }
}
