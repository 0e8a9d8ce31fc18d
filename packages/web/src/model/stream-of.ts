import type { Step } from '@retake/tape'
import type { StreamFrames } from './step-detail.js'

/** A streamed answer as it grew; undefined when there is no model's answer in pieces. */
export function streamOf(step: Step): StreamFrames | undefined {
  const exchange = step.exchange()
  const chunks = exchange?.response?.chunks
  if (exchange === undefined || chunks === undefined || step.kind !== 'model') return undefined
  return { frames: [{ at: step.latencyMs ?? 0, answer: exchange.answer }], chunks: chunks.length }
}
