import {
  appendFileSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { expect, test } from 'vitest'
import { branchOf, tapeIn, storeIn } from '../../test-support/stored-runs.js'
import { RunStore } from './run-store.js'
import { type RunSummary, summarizeRuns } from './run-summary.js'
import { changeTags } from './run-tags.js'

/** Enough output for an index to be worth it. */
const HEAVY = 'x'.repeat(300_000)

/** A folder with an index of four runs, and a fresh look at it. */
function indexedFolder() {
  const store = storeIn()
  for (const [index, letter] of ['a', 'b', 'c', 'd'].entries())
    tapeIn(store, `20261115-09301${index}-${letter}`, { output: `${HEAVY}\nsaid ${letter}\n` })
  const rows = rowsOf(store)
  return { store, rows, index: store.index.path, again: () => rowsOf(new RunStore(store.folder)) }
}

const rowsOf = (store: RunStore): RunSummary[] => [...summarizeRuns(store)]

/** Looks at a folder while its tapes have their stamps, but no content. */
function withoutTapes(folder: string, look: () => RunSummary[]): RunSummary[] {
  const files = new Map<string, Buffer>()
  const paths = new RunStore(folder).ids().map((id) => new RunStore(folder).pathOf(id))
  for (const file of paths) {
    const { atime, mtime, size } = statSync(file)
    files.set(file, readFileSync(file))
    // Same size, time and inode, but nothing to read.
    writeFileSync(file, Buffer.alloc(size))
    utimesSync(file, atime, mtime)
  }
  try {
    return look()
  } finally {
    for (const [file, bytes] of files) writeFileSync(file, bytes)
  }
}

test('rows come from the index, without reading a tape', () => {
  const { store, rows, again } = indexedFolder()
  for (const file of rows.map(({ path }) => path)) utimesSync(file, 1e9, 1e9)
  expect(again()).toEqual(rows)
  expect(withoutTapes(store.folder, again)).toEqual(rows)
})

test.each([
  ['is deleted', (index: string) => rmSync(index)],
  ['is empty', (index: string) => writeFileSync(index, '')],
  ['is not text', (index: string) => writeFileSync(index, Buffer.from([0, 255, 10, 7]))],
  ['has torn lines', (index: string) => truncateSync(index, statSync(index).size - 20)],
  [
    'has lines that are not rows',
    (index: string) => appendFileSync(index, 'null\n{"id":1}\n[]\n{"id":"x","stamp":"y"}\n'),
  ],
  [
    'is of another version',
    (index: string) =>
      writeFileSync(index, readFileSync(index, 'utf8').replace(/.*\n/, '{"layout":0}\n')),
  ],
  [
    'is a lie about a tape',
    (index: string) =>
      writeFileSync(index, readFileSync(index, 'utf8').replaceAll(/"stamp":"\d+/g, '"stamp":"1')),
  ],
])('an index that %s is rebuilt from the tapes', (_, spoil) => {
  const { rows, index, again } = indexedFolder()
  spoil(index)
  expect(again()).toEqual(rows)
  expect(again()).toEqual(rows)
  const kept = readFileSync(index, 'utf8').trimEnd().split('\n')
  for (const row of rows) expect(kept.some((line) => line.includes(`"${row.id}"`))).toBe(true)
})

test('a tape that changes is read again, and one that is new is added', () => {
  const { store, again } = indexedFolder()
  rmSync(store.pathOf('20261115-093010-a'))
  tapeIn(store, '20261115-093010-a', { output: 'another end\n' })
  tapeIn(store, '20261115-093019-e', { output: 'new\n' })
  expect(again().map((row) => 'lastLine' in row && row.lastLine)).toEqual([
    'new',
    'said d',
    'said c',
    'said b',
    'another end',
  ])
})

test('the row of a branch is read again when its parent is deleted', () => {
  const { store, again } = indexedFolder()
  branchOf(store, '20261115-093010-a', '20261115-093020-f')
  expect(again()[0]).toMatchObject({
    id: '20261115-093020-f',
    branch: { parent: '20261115-093010-a' },
  })
  rmSync(store.pathOf('20261115-093010-a'))
  expect(again()[0]).toMatchObject({ error: { code: 'BRANCH_PARENT_MISSING' } })
})

test('a run that is being recorded is not in the index', () => {
  const { store, again } = indexedFolder()
  const writer = tapeIn(store, '20261115-093020-f', { output: HEAVY, isOpen: true })
  expect(again()[0]).toMatchObject({ status: 'recording' })
  writer.append({ type: 'end', exitCode: 0 })
  writer.seal()
  expect(again()[0]).toMatchObject({ status: 'done' })
})

test('tags that change are shown, although the tape and its row do not change', () => {
  const { store, again } = indexedFolder()
  const file = store.pathOf('20261115-093013-d')
  changeTags(file, {}, { add: ['pin'], remove: [], note: 'keep' })
  expect(again()[0]).toMatchObject({ tags: ['pin'], note: 'keep' })
  rmSync(`${file}.tags`)
  expect(again()[0]).not.toHaveProperty('tags')
})

test('a few small runs leave no index, and a folder that cannot be written to is listed', () => {
  const store = storeIn()
  tapeIn(store, '20261115-093010-a', { output: 'small\n' })
  expect(rowsOf(store)).toHaveLength(1)
  expect(statSync(store.index.path, { throwIfNoEntry: false })).toBeUndefined()
})

test('the index is replaced before it is mostly outdated rows', () => {
  const { store, index } = indexedFolder()
  for (let round = 0; round < 120; round += 1) {
    for (const id of store.ids()) utimesSync(store.pathOf(id), round, round)
    rowsOf(new RunStore(store.folder))
  }
  expect(readFileSync(index, 'utf8').split('\n').length).toBeLessThan(220)
})
