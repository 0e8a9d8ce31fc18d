/** The tool that bench/guard.mjs runs in the sandbox and in its own process. */
import { readFileSync } from 'node:fs'

export const noop = ({ a }) => a

/** Microseconds that reading a small file takes, p50 of many. */
export function readTime({ path }) {
  const times = []
  for (let count = 0; count < 2000; count++) {
    const started = performance.now()
    readFileSync(path)
    times.push((performance.now() - started) * 1000)
  }
  return times.toSorted((a, b) => a - b)[1000]
}
