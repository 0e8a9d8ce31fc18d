import { expect, test } from 'vitest'
import type { ForkRun } from './fork-run.js'
import { RateLimitPause } from './forks.js'

const run = (rateLimit?: ForkRun['rateLimit']): ForkRun => ({
  outcome: { stdout: '', ended: true },
  values: {},
  answers: {},
  liveSteps: 0,
  samples: {},
  sampled: 0,
  forced: 0,
  assumed: [],
  tokens: 0,
  ...(rateLimit && { rateLimit }),
  remove: () => {},
})

// The pauses are short here: the provider asks for 1 ms.
const refused = run({ retryAfterMs: 1 })

test('a fork that was refused is run again until it is answered, and that result counts', async () => {
  const pauses: number[] = []
  const pause = new RateLimitPause(new AbortController().signal, (ms) => pauses.push(ms))
  const answers = [refused, refused, run()]
  const result = await pause.retrying(async () => answers.shift() ?? refused)
  expect(result.rateLimit).toBeUndefined()
  expect(pauses).toHaveLength(2)
  expect(pauses.every((ms) => ms >= 1)).toBe(true)
})

test('a stopped search waits no longer', async () => {
  const stop = new AbortController()
  const pause = new RateLimitPause(stop.signal, () => stop.abort())
  await expect(pause.retrying(async () => run({ retryAfterMs: 500_000 }))).rejects.toThrow(
    'aborted',
  )
})
