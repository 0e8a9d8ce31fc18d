import { RunTrash } from './run-trash.js'
import { collectRuns } from './collect-runs.js'
import { existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { openTape } from '@retake/tape/node'
import { afterEach, expect, test } from 'vitest'
import { branchOf, storeIn, tapeIn } from '../../test-support/stored-runs.js'
import { project, useProject } from '../config/define-config.js'

import type { RunStore } from '../runs/run-store.js'
import { changeTags, tagsOf } from '../runs/run-tags.js'

const [A, B, C] = ['20261115-093010-a', '20261115-093011-b', '20261115-093012-c'] as const

const before = project()
afterEach(() => useProject(before))

const collect = (store: RunStore, rule: Parameters<typeof collectRuns>[1]) =>
  collectRuns(store, rule, { isDry: false, trash: new RunTrash(store) })

test('a removed run is restored with everything that belongs to it and the runs that it continues', () => {
  const store = storeIn()
  tapeIn(store, A)
  branchOf(store, A, B)
  changeTags(store.pathOf(B), {}, { add: ['x'], remove: [], note: 'mine' })
  mkdirSync(store.pathOf(B).replace('.tape', '.files'))
  const digest = openTape(store.pathOf(B)).digest
  expect(collect(store, { keep: 0 }).removed).toEqual([B, A])
  expect(readdirSync(store.folder)).toEqual(['.trash'])
  const trash = new RunTrash(store)
  expect(trash.runs().map(({ id }) => id)).toEqual(expect.arrayContaining([A, B]))
  expect(trash.restore([B])).toEqual([A, B])
  expect(openTape(store.pathOf(B)).digest).toBe(digest)
  expect(tagsOf(store.pathOf(B), {})).toEqual({ tags: ['x'], note: 'mine' })
  expect(existsSync(store.pathOf(B).replace('.tape', '.files'))).toBe(true)
  expect(trash.runs()).toEqual([])
  expect(() => trash.restore([B])).toThrow('is not in the trash')
})

test('leftovers of a killed process follow its tape, but never that of a new run', () => {
  const store = storeIn()
  for (const id of [A, B]) {
    tapeIn(store, id)
    changeTags(store.pathOf(id), {}, { add: [id.slice(-1)], remove: [] })
    // Killed after the first move.
    const entry = path.join(store.folder, '.trash', `${Date.now()}-${id}`)
    mkdirSync(entry, { recursive: true })
    renameSync(store.pathOf(id), path.join(entry, 'tape'))
  }
  tapeIn(store, B)
  const trash = new RunTrash(store)
  trash.settle()
  expect(readdirSync(store.folder).toSorted()).toEqual(['.trash', `${B}.tape`, `${B}.tape.tags`])
  trash.restore([A])
  expect(tagsOf(store.pathOf(A), {})).toEqual({ tags: ['a'] })
  expect(() => trash.restore([B])).toThrow(/is not restored/)
})

test('rules select by age, number, size and outcome; together they narrow each other down', () => {
  const store = storeIn()
  for (const [index, id] of [A, B, C].entries())
    tapeIn(store, id, { exitCode: index % 2, output: 'x'.repeat(1000) })
  const selected = (rule: Parameters<typeof collectRuns>[1]): readonly string[] =>
    collectRuns(store, rule, { isDry: true }).removed
  expect(selected({ keep: 1 })).toEqual([B, A])
  expect(selected({ before: Date.parse('2026-11-15T09:30:11Z') })).toEqual([A])
  expect(selected({ maxBytes: 4000 })).toEqual([A])
  expect(selected({ maxBytes: 0 })).toEqual([C, B, A])
  expect(selected({ outcomes: new Set(['failed']) })).toEqual([B])
  expect(selected({ keep: 1, outcomes: new Set(['done']) })).toEqual([A])
  expect(readdirSync(store.folder)).toHaveLength(3)
})

test('runs on hold, pinned or younger than the floor stay, with the runs that they continue', () => {
  const store = storeIn()
  tapeIn(store, A)
  branchOf(store, A, B)
  tapeIn(store, C)
  changeTags(store.pathOf(B), {}, { add: ['hold'], remove: [] })
  changeTags(store.pathOf(C), {}, { add: ['pin'], remove: [] })
  expect(collect(store, { keep: 0 })).toMatchObject({
    removed: [],
    kept: [
      { id: C, why: 'pinned' },
      { id: B, why: 'on hold' },
      { id: A, why: 'branches', branches: [B] },
    ],
  })
  useProject({ ...before, retention: { floor: '9999w' } })
  expect(collect(store, { keep: 0 }).kept.map(({ why }) => why)).toEqual([
    'young',
    'young',
    'young',
  ])
})

test('the trash is emptied of runs that were removed long ago', () => {
  const store = storeIn()
  tapeIn(store, A)
  tapeIn(store, B)
  collect(store, { keep: 1 })
  const trash = new RunTrash(store)
  expect(trash.empty(Date.now() - 60_000)).toEqual([])
  writeFileSync(path.join(store.folder, '.trash', 'note.txt'), 'not an entry')
  expect(trash.empty(Infinity, true)).toEqual([A])
  expect(trash.empty(Infinity)).toEqual([A])
  expect(trash.runs()).toEqual([])
  expect(readdirSync(store.folder).toSorted()).toEqual(['.trash', `${B}.tape`])
})
