import { plainJson } from '@retake/tape'
import type { Step, Tape } from '@retake/tape'
import type { BodySide } from './step-detail.js'

/** The bytes of one side of a step, whole; undefined when it has no such side. */
export function bodyOf(_tape: Tape, step: Step, side: BodySide): Uint8Array | undefined {
  if (side === 'request') return step.exchange()?.request.body
  if (side === 'response') return step.exchange()?.response?.body
  const call = step.call()
  const value = side === 'args' ? call?.args : call?.result
  if (value === undefined) return undefined
  return new TextEncoder().encode(JSON.stringify(plainJson(value), undefined, 2))
}
