import { TapeSource } from '../../packages/engine/dist/player/tape-source.js'
import { openForReplay } from '../../packages/engine/dist/runs/open-for-replay.js'
import { openRecording } from '../../packages/engine/dist/library/record.js'
import { runToEnd } from '../../packages/engine/dist/library/run-to-end.js'
import { outsideRuns } from '../../packages/engine/dist/kernel/scope.js'

/** Does for a function what `retake chaos` does for a process. Throws where the tape has no answer. */
export function reorder(path, agent, { seed, dir }) {
  return new Promise((resolve, reject) => {
    const { session } = outsideRuns(() => {
      const answers = new TapeSource(openForReplay(path), {
        from: 1,
        order: { seed },
        session: () => recording.session,
        onStopped: reject,
      })
      const recording = openRecording({ name: 'reordered', dir }, { answers })
      return recording
    })
    runToEnd(session, agent).then(resolve, reject)
  })
}
