import type { Step } from '@retake/tape'
import { clipMessages } from './clip-message.js'
import type { StreamFrames } from './step-detail.js'

/** Frames of one stream, and characters in all of them together. */
const FRAMES_MAX = 150
const CHARACTERS_MAX = 6_000_000

/**
 * A model's answer as it grew; undefined when it came in one piece. The last frame
 * is the answer itself.
 */
export function streamOf(step: Step): StreamFrames | undefined {
  if (step.kind !== 'model') return undefined
  const chunks = step.exchange()?.response?.chunks.length ?? 0
  if (chunks < 2) return undefined
  // Each frame repeats what came before: half of the answer, on average.
  const size = Math.max(1, JSON.stringify(step.answer()).length)
  const affordable = Math.max(2, Math.floor((2 * CHARACTERS_MAX) / size))
  const framesMax = Math.min(FRAMES_MAX, affordable)
  const frames = step.answerFrames({ framesMax })
  if (frames.length < 2) return undefined
  return {
    frames: frames.map(({ at, answer }) => ({
      at: at - step.at,
      answer: clipMessages(answer),
    })),
    chunks,
  }
}
