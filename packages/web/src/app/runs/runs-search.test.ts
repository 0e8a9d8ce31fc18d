import { expect, test } from 'vitest'
import {
  countByStatus,
  filterRuns,
  type ListedRun,
  readRunsSearch,
  sortRuns,
} from './runs-search.js'

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

test('runs are found by their status', () => {
  expect(idsOf({ status: 'failed' })).toEqual(['b2'])
  expect(idsOf({ status: 'unreadable' })).toEqual(['c3'])
  expect(idsOf({ status: 'failed', text: 'refund' })).toEqual([])
})

test('an address that makes no sense shows all runs', () => {
  expect(readRunsSearch({ text: { a: 1 }, status: 'odd', other: 1 })).toEqual({})
  expect(readRunsSearch({ text: 12, status: 'done' })).toEqual({ text: '12', status: 'done' })
})

test('runs are found by error, output, model and tag', () => {
  const found = { ...card, id: 'd4', name: 'x', status: 'failed' } as const
  const more: ListedRun = {
    ...found,
    failure: 'TypeError: fetch failed',
    models: ['gpt-4o'],
    tags: ['nightly'],
  }
  for (const text of ['fetch', 'GPT', 'night'])
    expect(filterRuns([more, ...runs], { text })).toEqual([more])
})

test('a run that failed the check of a blame search counts as failed', () => {
  const blamed: ListedRun = { ...card, id: 'd4', name: 'x', status: 'done', failedCheck: true }
  expect(countByStatus([...runs, blamed])).toEqual([
    { status: 'failed', count: 2 },
    { status: 'done', count: 1 },
    { status: 'unreadable', count: 1 },
  ])
})

const run = (id: string, startedAt: number, parent?: string, costUsd?: number): ListedRun => ({
  ...card,
  id,
  name: id,
  startedAt,
  status: 'done',
  ...(parent !== undefined && { branch: { kind: 'fork', parent } }),
  ...(costUsd !== undefined && { costUsd }),
})

test('branches are below their parents, the family of the latest run first', () => {
  const list = [
    run('grandchild', 9, 'child'),
    run('alone', 8),
    run('child 2', 7, 'root'),
    run('child', 6, 'root'),
    run('lost', 5, 'deleted'),
    run('root', 1),
  ]
  expect(sortRuns(list, {}).map(({ run: { id }, depth }) => [id, depth])).toEqual([
    ['root', 0],
    ['child', 1],
    ['grandchild', 2],
    ['child 2', 1],
    ['alone', 0],
    ['lost', 0],
  ])
})

test('runs that name each other as parents are all listed, once', () => {
  const list = [run('a', 2, 'b'), run('b', 1, 'a')]
  expect(
    sortRuns(list, {})
      .map(({ run: { id } }) => id)
      .toSorted(),
  ).toEqual(['a', 'b'])
})

test('a column sorts the largest first, unknown values last', () => {
  const list = [run('a', 1, undefined, 1), run('b', 2), run('c', 3, undefined, 5), ...runs.slice(2)]
  const idsBy = (up?: true): string[] =>
    sortRuns(list, { sort: 'cost', ...(up && { up }) }).map(({ run: { id } }) => id)
  expect(idsBy()).toEqual(['c', 'a', 'b', 'c3'])
  expect(idsBy(true)).toEqual(['a', 'c', 'b', 'c3'])
})
