import type { RunView, Tape } from '@retake/tape'
import type { FileTouch } from './run-parts.js'

/** Files the agent touched, in order. */
export function filesOf(tape: Tape, view: RunView): FileTouch[] {
  const touches: FileTouch[] = []
  const failed = new Set<number>()
  for (const event of tape.events()) {
    if (event.type === 'result' && event.error !== undefined) failed.add(event.op)
    if (event.type !== 'call' || event.kind !== 'file') continue
    const { seq, at, name, title = '' } = event
    const step = view.recordedSteps.findLast((each) => each.seq < seq)?.label
    touches.push({ seq, at, call: name, path: title, ok: true, step })
  }
  return touches.map((touch) => (failed.has(touch.seq) ? { ...touch, ok: false } : touch))
}
