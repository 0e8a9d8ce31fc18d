import { refusedRuns, removeRuns, RunFamily } from './remove-runs.js'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { branchOf, storeIn, tapeIn } from '../../test-support/stored-runs.js'

import { markRecording } from '../runs/run-store.js'
import { changeTags } from '../runs/run-tags.js'

const [A, B, C] = ['20261115-093010-a', '20261115-093011-b', '20261115-093012-c'] as const

/** A run, its branch, and a branch of that. */
function family() {
  const store = storeIn()
  tapeIn(store, A)
  branchOf(store, A, B)
  branchOf(store, B, C)
  return { store, found: new RunFamily(store) }
}

test('a run goes with everything that belongs to it', () => {
  const { store, found } = family()
  writeFileSync(`${store.pathOf(C)}.state`, '{}')
  writeFileSync(`${store.pathOf(C)}.pid`, '999999999')
  changeTags(store.pathOf(C), {}, { add: ['x'], remove: [] })
  mkdirSync(store.pathOf(C).replace('.tape', '.files'))
  for (const kind of ['.approvals', '.compare']) mkdirSync(store.pathOf(C).replace('.tape', kind))
  expect(removeRuns(store, found, [C])).toEqual({ removed: [C], kept: [] })
  expect(readdirSync(store.folder).toSorted()).toEqual([`${A}.tape`, `${B}.tape`])
})

test('a run is removed with its stored search results, and nothing of other runs', () => {
  const store = storeIn()
  for (const id of [A, `${A}.b`]) tapeIn(store, id)
  const blame = path.join(store.folder, 'blame')
  const kinds = ['json', 'samples.jsonl', '0123456789ab.jsonl', '0123456789ab']
  mkdirSync(blame)
  for (const kind of kinds)
    for (const id of [A, `${A}.b`]) writeFileSync(path.join(blame, `${id}.${kind}`), '')
  expect(removeRuns(store, new RunFamily(store), [A]).removed).toEqual([A])
  expect(readdirSync(blame).toSorted()).toEqual(kinds.map((kind) => `${A}.b.${kind}`).toSorted())
})

test('a run that a branch continues stays, unless the branch goes, too', () => {
  const { store, found } = family()
  expect(removeRuns(store, found, [A, B])).toEqual({
    removed: [],
    kept: [
      { id: B, why: 'branches', branches: [C] },
      { id: A, why: 'branches', branches: [B] },
    ],
  })
  expect(removeRuns(store, found, [A, B, C]).removed).toEqual([C, B, A])
})

test('runs that must stay are known before anything is removed', () => {
  const { store } = family()
  changeTags(store.pathOf(C), {}, { add: ['pin'], remove: [] })
  expect(refusedRuns(new RunFamily(store), [A, B, C, 'gone'])).toEqual([
    { id: C, why: 'pinned' },
    { id: 'gone', why: 'gone' },
    { id: B, why: 'branches', branches: [C] },
    { id: A, why: 'branches', branches: [B] },
  ])
})

test('a run that is being recorded stays', () => {
  const store = storeIn()
  const writer = tapeIn(store, A, { isOpen: true })
  const found = new RunFamily(store)
  expect(refusedRuns(found, [A])).toEqual([{ id: A, why: 'recording' }])
  expect(removeRuns(store, found, [A]).kept).toEqual([{ id: A, why: 'recording' }])
  writer.append({ type: 'end', exitCode: 0 })
  writer.seal()
  expect(removeRuns(store, found, [A]).removed).toEqual([A])
})

test('a branch that began after the look keeps its parent, with or without a tape', () => {
  const { store, found } = family()
  branchOf(store, C, '20261115-093015-late')
  expect(removeRuns(store, found, [C]).kept).toMatchObject([{ branches: ['20261115-093015-late'] }])
  tapeIn(store, '20261115-093016-d')
  const look = new RunFamily(store)
  const unmark = markRecording(store.pathOf('20261115-093017-soon'), '20261115-093016-d')
  expect(removeRuns(store, look, ['20261115-093016-d']).kept).toMatchObject([
    { why: 'branches', branches: ['20261115-093017-soon'] },
  ])
  unmark[Symbol.dispose]()
  expect(removeRuns(store, new RunFamily(store), ['20261115-093016-d']).kept).toEqual([])
})

test('of two that remove the same runs both are done', () => {
  const { store, found } = family()
  const other = new RunFamily(store)
  expect(removeRuns(store, found, [A, B, C]).kept).toEqual([])
  expect(removeRuns(store, other, [A, B, C]).kept).toEqual([])
  expect(existsSync(store.pathOf(A))).toBe(false)
})
