import { expect, test } from 'vitest'
import { NO_USAGE } from '../providers/specification/usage.js'
import type { RunTotals } from '../read-model/step.js'
import { costText, countCalls, runEnd, runStatus, tokensText } from './run-facts.js'

const usage = { ...NO_USAGE, input: 10_000, output: 2 }
const answered = { kind: 'model', state: 'done', usage } as const
const uncounted = { ...answered, usage: undefined }
const refused = { ...uncounted, state: 'failed' } as const

test('tokens that no answer reports are unknown, not 0', () => {
  expect(tokensText({ usage: NO_USAGE }, countCalls([uncounted, uncounted]))).toBe('tokens unknown')
})

test('a sum over some of the calls says so; a refused call has none', () => {
  const sum = '10,000 tokens in, 2 out'
  expect(tokensText({ usage }, countCalls([answered, uncounted]))).toBe(`${sum} in 1 of 2 calls`)
  expect(tokensText({ usage }, countCalls([answered, refused]))).toBe(sum)
})

test('a cost with unknown parts shows the known part', () => {
  const totals = { modelCalls: 3, costUsd: undefined, knownCostUsd: 2.69, unknownCost: ['2'] }
  expect(costText(totals)).toBe('$2.69 + 1 call without a price')
  expect(costText({ ...totals, unknownCost: ['1', '2', '3'] })).toBe('cost unknown')
  expect(costText({ ...totals, costUsd: 0.5 } satisfies Partial<RunTotals>)).toBe('$0.50')
})

test.each([
  [{ code: 0 }, false, 'done', undefined],
  [{ code: 3 }, false, 'failed', 'exit code 3'],
  [{ signal: 'SIGTERM' }, false, 'killed', 'SIGTERM'],
  [
    { error: { class: 'TypeError', name: 'TypeError', message: 'x\ny' } },
    false,
    'failed',
    'TypeError: x',
  ],
  [
    { error: { class: 'InternalServerError', name: 'Error', message: '500' } },
    false,
    'failed',
    'InternalServerError: 500',
  ],
  [undefined, false, 'killed', 'no end was recorded'],
  [undefined, true, 'recording', undefined],
] as const)('a run that ended with %j (recording: %s) is %s', (exit, isRecording, status, end) => {
  const facts = { isCutOff: false, isRecording: () => isRecording }
  expect(runStatus({ exit, isStopped: false }, facts)).toBe(status)
  expect(runEnd({ status, exit })).toBe(end)
})

test('a tape without its end shows that it ended only if its end was recorded', () => {
  const facts = { isCutOff: true, isRecording: () => false }
  const statusOf = (exit: { code: number } | undefined, more = {}) =>
    runStatus({ exit, isStopped: false }, { ...facts, ...more })
  expect(statusOf({ code: 0 })).toBe('cut off')
  expect(statusOf({ code: 1 })).toBe('cut off')
  expect(statusOf(undefined)).toBe('killed')
  expect(statusOf({ code: 0 }, { damage: {} })).toBe('damaged')
})

test('a branch with an offline tail says why it has no end', () => {
  const facts = { isCutOff: false, isRecording: () => false }
  const status = runStatus({ exit: undefined, isStopped: true }, facts)
  expect(status).toBe('stopped')
  expect(runEnd({ status })).toContain('stops where its parent has no answer')
})
