import { expect, test } from 'vitest'
import { filterRuns, type ListedRun, readRunsSearch } from './runs-search.js'

const card = { startedAt: 0, durationMs: 1, steps: 1 }
const runs: readonly ListedRun[] = [
  { ...card, id: 'a1', name: 'Refund', status: 'done' },
  { ...card, id: 'b2', name: 'search', status: 'failed', branch: { kind: 'fork', parent: 'a1' } },
  { id: 'c3', error: { code: 'TAPE_DAMAGED', what: 'The tape is damaged.' } },
]
const idsOf = (search: Parameters<typeof filterRuns>[1]) =>
  filterRuns(runs, search).map(({ id }) => id)

test('runs are found by name, id, parent and error, ignoring case', () => {
  expect(idsOf({ text: 'refund' })).toEqual(['a1'])
  expect(idsOf({ text: 'A1' })).toEqual(['a1', 'b2'])
  expect(idsOf({ text: 'damaged' })).toEqual(['c3'])
})

test('runs are found by how they stand', () => {
  expect(idsOf({ status: 'failed' })).toEqual(['b2'])
  expect(idsOf({ status: 'unreadable' })).toEqual(['c3'])
  expect(idsOf({ status: 'failed', text: 'refund' })).toEqual([])
})

test('an address that makes no sense shows all runs', () => {
  expect(readRunsSearch({ text: { a: 1 }, status: 'odd', other: 1 })).toEqual({})
  expect(readRunsSearch({ text: 12, status: 'done' })).toEqual({ text: '12', status: 'done' })
})
