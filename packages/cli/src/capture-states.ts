import type { Probe, Stop } from '@retake/engine/inspect'
import type { CapturedState, RunView, Step } from '@retake/tape'
import { momentOf } from './find-step.js'
import { checkEnd } from './look-at-step.js'
import { stepState } from './state-file.js'

/**
 * The state at every k-th step, in one replay. Steps after whose answer no code of
 * the user's ran have none. Afterwards the replay has run to its end.
 */
export async function captureStates(
  probe: Probe,
  view: RunView,
  every: number,
): Promise<CapturedState[]> {
  const wanted = view.recordedSteps
    .filter(({ number }) => number % every === 0 || number === view.recordedSteps.length)
    .toSorted((a, b) => momentOf(a) - momentOf(b))
  const states: (CapturedState & { readonly number: number })[] = []
  let last: Stop | undefined
  for (const step of wanted) {
    const stop = await stopAt(probe, step, last)
    if (stop === undefined) break
    states.push({ number: step.number, ...stepState(step.label, momentOf(step), stop) })
    last = stop
  }
  if (probe.place.kind !== 'ended') await probe.resume()
  if (probe.place.kind === 'ended') checkEnd(probe.place)
  return states
    .toSorted((a, b) => a.number - b.number)
    .map(({ number: _number, ...state }) => state)
}

async function stopAt(probe: Probe, step: Step, last: Stop | undefined): Promise<Stop | undefined> {
  const moment = momentOf(step)
  // The first code after an earlier answer ran only after this one had come too.
  if (last && last.position > moment) return { ...last, isDirect: last.position === moment + 1 }
  const held = await probe.runTo(moment, { keepDebugger: true })
  if (held.kind === 'ended') return undefined
  const stop = await probe.stopAtUserCode()
  return stop.kind === 'stop' ? stop : undefined
}
