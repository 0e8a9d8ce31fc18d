import { appendFileSync, mkdtempSync, rmSync, truncateSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { coalitionKey, type StoredFork, StoredForks } from './forks.js'

const fork = (outcome: StoredFork['outcome']): StoredFork => ({
  outcome,
  values: ['a', null],
  liveSteps: 1,
  forced: 0,
})

function tapeFile(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'stored-forks-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return path.join(folder, 'runs', 'x.tape')
}

test('forks are found again by coalition and draw', () => {
  const tape = tapeFile()
  const first = new StoredForks(tape, 'x', 'q')
  first.add(coalitionKey({ pinned: [0, 1, 4], mode: 'free', ambient: [] }, 0), fork('fail'))
  first.add(coalitionKey({ pinned: [0, 1, 4], mode: 'free', ambient: [] }, 1), fork('pass'))
  first.add(coalitionKey({ pinned: [0, 1, 4], mode: 'frozen', ambient: [] }, 0), fork('undefined'))
  const again = new StoredForks(tape, 'x', 'q')
  expect(again.size).toBe(2)
  expect(again.find(coalitionKey({ pinned: [0, 1, 4], mode: 'free', ambient: [] }, 1))).toEqual(
    fork('pass'),
  )
  // Nothing is known of it; it is run again.
  expect(
    again.find(coalitionKey({ pinned: [0, 1, 4], mode: 'frozen', ambient: [] }, 0)),
  ).toBeUndefined()
  expect(again.find(coalitionKey({ pinned: [0, 1], mode: 'free', ambient: [] }, 0))).toBeUndefined()
  expect(new StoredForks(tape, 'x', 'other').size).toBe(0)
})

test('a torn last line costs that fork only, also for those that are added after it', () => {
  const tape = tapeFile()
  const first = new StoredForks(tape, 'x', 'q')
  first.add(coalitionKey({ pinned: [], mode: 'free', ambient: [] }, 0), fork('pass'))
  first.add(coalitionKey({ pinned: [], mode: 'free', ambient: [] }, 1), fork('fail'))
  truncateSync(first.file, statSync(first.file).size - 9)
  const second = new StoredForks(tape, 'x', 'q')
  expect(second.size).toBe(1)
  second.add(coalitionKey({ pinned: [], mode: 'free', ambient: [] }, 1), fork('pass'))
  expect(
    new StoredForks(tape, 'x', 'q').find(
      coalitionKey({ pinned: [], mode: 'free', ambient: [] }, 1),
    ),
  ).toEqual(fork('pass'))
})

test('lines of something else are passed over', () => {
  const tape = tapeFile()
  const first = new StoredForks(tape, 'x', 'q')
  first.add(coalitionKey({ pinned: [0], mode: 'free', ambient: [] }, 0), fork('fail'))
  appendFileSync(first.file, '\nnull\n{"key":"free 1 #0"}\n[]\n{"key":3,"fork":{"values":[]}}')
  expect(new StoredForks(tape, 'x', 'q').size).toBe(1)
})

test('an answer of a step is stored once for each value, and found by a later search', () => {
  const tape = tapeFile()
  const first = new StoredForks(tape, 'x', 'q')
  const said = (text: string): { given: { payload: string }; said: { text: string } } => ({
    given: { payload: text },
    said: { text },
  })
  first.add('free #0', fork('pass'), { 0: said('one') })
  first.add('free #1', fork('fail'), { 0: said('one in other words') })
  // A step that did not happen has no value.
  first.add(
    'free #2',
    { ...fork('undefined'), values: ['b', null] },
    { 0: said('two'), 1: said('?') },
  )
  const again = new StoredForks(tape, 'x', 'q')
  for (const stored of [first, again]) {
    expect(stored.answer(0, 'a')).toEqual(said('one'))
    expect(stored.answer(0, 'b')).toEqual(said('two'))
    expect(stored.answer(1, 'a')).toBeUndefined()
  }
})
