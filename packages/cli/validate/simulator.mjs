/** Answers free steps as the planted failure says, in place of the tools. */
import { FAULTS } from './faults.mjs'

/** @type {import('@retake/engine').Simulator} */
export default function simulate({ kind, request }) {
  if (kind !== 'tool') return undefined
  const { step, before } = Array.isArray(request) ? request[0] : request
  const { free = () => 0 } = FAULTS[process.argv[2]]
  return { payload: { fault: free(step, before) } }
}
