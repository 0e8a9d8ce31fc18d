import { expect, test } from 'vitest'
import { KINDS, STATES } from '@retake/tape/present'
import { makeListColumns } from '../row-store.js'
import { overlayValues, sumText } from './timeline-data.js'

/** Model calls by their state and cost. */
function columnsOf(...calls: readonly (readonly [(typeof STATES)[number], number | undefined])[]) {
  const columns = makeListColumns()
  for (const [index, [state, costUsd]] of calls.entries()) {
    columns.kind[index] = KINDS.indexOf('model')
    columns.state[index] = STATES.indexOf(state)
    columns.costUsd[index] = costUsd ?? Number.NaN
    columns.latencyMs[index] = 1000
    columns.tokensIn[index] = Number.NaN
  }
  columns.length = calls.length
  return columns
}

test('a sum says how many calls it does not cover; one that was refused cost nothing', () => {
  const columns = columnsOf(['done', 1], ['failed', undefined], ['done', undefined], ['done', 2])
  const values = overlayValues(columns, 'cost')!
  expect(sumText('cost', values, 1)).toBe('$1.00 of $3.00, without 1 call of unknown cost')
  expect(sumText('cost', values, 3)).toBe('$3.00 of $3.00, without 1 call of unknown cost')
  expect(values.max).toBe(2)
})

test('a call that broke off after it had used something is not free', () => {
  const columns = columnsOf(['done', 1], ['failed', undefined])
  const sum = (): string => sumText('cost', overlayValues(columns, 'cost')!, 1)
  expect(sum()).toBe('$1.00 of $1.00')
  columns.tokensIn[1] = 12
  expect(sum()).toBe('$1.00 of $1.00, without 1 call of unknown cost')
})

test('latency adds up to time spent in steps', () => {
  const columns = columnsOf(['done', 1], ['done', 1])
  expect(sumText('latency', overlayValues(columns, 'latency')!, 0)).toBe('1.0 s of 2.0 s in steps')
})

test('without a figure nothing is added up', () => {
  expect(overlayValues(columnsOf(['done', 1]), 'none')).toBeUndefined()
})
