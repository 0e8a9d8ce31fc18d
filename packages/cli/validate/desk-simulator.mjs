/** Answers free steps of the refund desk as they are without the planted fault. */
import { modelAnswer, toolResult } from './desk-faults.mjs'

const fault = process.argv[2]
let drawn = 0

/** Differs between forks and between the steps of a fork; the same for the same seed. */
const randomFrom = (seed) => () => {
  let state = (seed + 0x9e3779b9 * ++drawn) >>> 0
  state = Math.imul(state ^ (state >>> 16), 0x85ebca6b)
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35)
  return ((state ^ (state >>> 16)) >>> 0) / 2 ** 32
}

/** @type {import('@retake/engine').Simulator} */
export default function simulate({ kind, name, request, seed, recorded }) {
  const random = randomFrom(seed)
  if (kind === 'model') return { payload: modelAnswer(fault, request, false, random) }
  if (name.startsWith('price_')) return { payload: recorded }
  const args = Array.isArray(request) ? request[0] : request
  return { payload: toolResult(fault, name, args, false, random) }
}
