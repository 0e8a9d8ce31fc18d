import { openTape } from '@retake/tape/node'
import { expect, test } from 'vitest'
import { storeIn, tapeIn } from '../../../runner/test-support/stored-runs.js'
import { firstDifference, trialFigures } from './live-trials.js'

test('the first difference in output names the line and its stream', () => {
  const store = storeIn()
  const [one, other] = ['20261115-093001-aaaa', '20261115-093002-bbbb']
  tapeIn(store, one, { output: 'order 1182\nAPPROVED\n' })
  tapeIn(store, other, { output: 'order 1182\nDENIED\n' })
  const [a, b] = [openTape(store.pathOf(one)), openTape(store.pathOf(other))]
  expect(firstDifference(a, b)).toBe('line 2 of stdout')
  expect(firstDifference(a, a)).toBeUndefined()
})

test('the cost of trials is unknown if that of one is', () => {
  const trial = { verdict: 'pass', reason: '', ms: 10, tokens: 0, live: 0 } as const
  expect(
    trialFigures([
      { ...trial, costUsd: 1 },
      { ...trial, costUsd: 2 },
    ]),
  ).toMatchObject({
    costUsd: 3,
  })
  expect(trialFigures([{ ...trial, costUsd: 1 }, trial])).not.toHaveProperty('costUsd')
})
