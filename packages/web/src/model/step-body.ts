import { plainJson, toWire } from '@retake/tape'
import type { Step } from '@retake/tape'
import type { BodySide } from './step-detail.js'

/** The bytes of one side of a step, whole; undefined when it has no such side. */
export function bodyOf(step: Step, side: BodySide): Uint8Array | undefined {
  if (side === 'request') return step.exchange()?.request.body
  if (side === 'response') return step.exchange()?.response?.body
  const call = step.call()
  if (side === 'output') return call && joinBytes(call.output.map(({ bytes }) => bytes))
  const value = side === 'args' ? call?.args : call?.result
  if (value === undefined) return undefined
  if (typeof value === 'string') return new TextEncoder().encode(value)
  if (value instanceof Uint8Array) return value
  return new TextEncoder().encode(JSON.stringify(plainJson(toWire(value)), undefined, 2))
}

function joinBytes(pieces: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    joined.set(piece, at)
    at += piece.length
  }
  return joined
}
