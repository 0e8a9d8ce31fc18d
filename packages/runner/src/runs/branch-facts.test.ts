import type { RunView, Step, Tape } from '@retake/tape'
import { expect, test } from 'vitest'
import { branchFacts } from './branch-tree.js'

const usage = {
  input: 5,
  cachedInput: 0,
  cacheWrite: 0,
  cacheWriteLong: 0,
  output: 5,
  reasoning: 0,
  unpriced: [],
}

/** What is paid for model calls that were all live. */
function paidFor(...steps: readonly Partial<Step>[]): number | undefined {
  const tape = { ownFrom: 0, details: {} } as unknown as Tape
  const recordedSteps = steps.map((step) => ({ kind: 'model', ...step }))
  return branchFacts(tape, { recordedSteps } as unknown as RunView).paidUsd
}

test('a refused model call costs nothing; the cost of an interrupted one is unknown', () => {
  const done = { state: 'done', usage, costUsd: 2 } as const
  expect(paidFor(done, { state: 'failed' })).toBe(2)
  expect(paidFor(done, { state: 'failed', usage })).toBeUndefined()
  expect(paidFor(done, { state: 'aborted' })).toBeUndefined()
})
