import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { TapeWriter } from '@retake/tape/node'
import { expect, onTestFinished, test } from 'vitest'
import { RunStore } from './run-store.js'
import { summarizeRun } from './run-summary.js'

/** A store with a tape for each id, started at the given moment. */
function storeOf(runs: Readonly<Record<string, number>>): RunStore {
  const folder = mkdtempSync(path.join(tmpdir(), 'retake-store-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const store = new RunStore(folder)
  for (const [id, startedAt] of Object.entries(runs)) {
    const run = {
      type: 'run',
      id,
      name: id,
      startedAt,
      scope: 'process',
      node: 'v20.0.0',
    } as const
    TapeWriter.create(store.pathOf(id), run, {}).close()
  }
  return store
}

test('runs of the same second are ordered by their tapes', () => {
  const store = storeOf({
    '20261115-093012-zzzz': 1,
    '20261115-093012-aaaa': 3,
    '20261115-093012-mmmm': 2,
    '20261114-235959-qqqq': 9,
  })
  expect(store.ids()).toEqual([
    '20261115-093012-aaaa',
    '20261115-093012-mmmm',
    '20261115-093012-zzzz',
    '20261114-235959-qqqq',
  ])
  expect(store.find('last')).toBe(store.pathOf('20261115-093012-aaaa'))
})

test('an id that is a prefix of another one means itself', () => {
  const store = storeOf({ '20261115-093012-abcd': 1, '20261115-093012-abcd-2': 2 })
  expect(store.find('20261115-093012-abcd')).toBe(store.pathOf('20261115-093012-abcd'))
  expect(() => store.find('20261115-0930')).toThrow(/matches 2 runs/)
  expect(() => store.find('2027')).toThrow(/no run "2027"/)
})

test('an empty name means no run, even if there is only one', () => {
  const store = storeOf({ '20261115-093012-abcd': 1 })
  expect(() => store.find('')).toThrow(expect.objectContaining({ code: 'UNKNOWN_RUN' }))
})

test('paths are used unchanged, and other files in the folder are ignored', () => {
  const store = storeOf({ '20261115-093012-abcd': 1 })
  writeFileSync(path.join(store.folder, 'notes.txt'), '')
  expect(store.ids()).toHaveLength(1)
  expect(store.find('some/where.tape')).toBe('some/where.tape')
  expect(store.find('here.tape')).toBe('here.tape')
})

test('unreadable tapes are rows like others', () => {
  const store = storeOf({ '20261115-093012-aaaa': 1 })
  const run = { type: 'run', id: 'x', startedAt: 1, scope: 'function', node: 'v20.0.0' }
  TapeWriter.create(store.pathOf('nameless'), run as never, {}).close()
  TapeWriter.create(store.pathOf('odd'), { ...run, name: 'odd' } as never, null as never).close()
  const rows = Object.fromEntries(store.ids().map((id) => [id, summarizeRun(id, store.pathOf(id))]))
  expect(rows['nameless']).toMatchObject({ error: { code: 'TAPE_CORRUPT' } })
  expect(rows['odd']).toMatchObject({ error: { code: 'TAPE_CORRUPT' } })
})
