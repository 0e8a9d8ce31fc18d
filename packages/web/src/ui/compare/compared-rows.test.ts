import type { RunDiff, StepDiff, StepRef } from '@retake/tape/diff'
import type { RunView, Step } from '@retake/tape'
import { expect, test } from 'vitest'
import { comparedRows, comparedText } from './compared-rows.js'

const step = (label: string): Step => ({ label, title: `title ${label}`, kind: 'tool' }) as Step
const view = (...labels: string[]): RunView => ({ steps: labels.map(step) }) as unknown as RunView
const ref = (label: string): StepRef => step(label)

const differing = (change: StepDiff['change'], a?: string, b?: string): StepDiff => ({
  change,
  ...(a !== undefined && { a: ref(a) }),
  ...(b !== undefined && { b: ref(b) }),
  fields: [],
  carried: change === 'changed' ? ['messages[1]'] : [],
})

const rowsOf = (a: RunView, b: RunView, ...steps: StepDiff[]): string[] =>
  comparedRows(a, b, { steps } as unknown as RunDiff).map(
    (row) => `${row.a ?? '-'} ${row.b ?? '-'} ${row.verdict}${row.moved ? ', moved' : ''}`,
  )

test('steps that are the same are paired in order around those that differ', () => {
  expect(
    rowsOf(
      view('1', '2', '3', '4', '5'),
      view('1', '2', '3', '4', '5'),
      differing('removed', '2'),
      differing('added', undefined, '3'),
      differing('changed', '4', '4'),
    ),
  ).toEqual(['1 1 same', '2 - only a', '3 2 same', '- 3 only b', '4 4 changed', '5 5 same'])
})

test('a step in another order is listed where the first run has it', () => {
  expect(rowsOf(view('1', '2', '3'), view('1', '2', '3'), differing('moved', '1', '3'))).toEqual([
    '1 3 changed, moved',
    '2 1 same',
    '3 2 same',
  ])
})

test('rows that differ are in the order of the diff, in which they arose', () => {
  const [a, b] = [view('1', '1.1', '2', '3'), view('1', '1.1', '2', '3')]
  expect(rowsOf(a, b, differing('changed', '2', '2'), differing('changed', '1.1', '1.1'))).toEqual([
    '1 1 same',
    '2 2 changed',
    '1.1 1.1 changed',
    '3 3 same',
  ])
})

test('differences that are only carried along are counted', () => {
  const [row] = comparedRows(view('1'), view('1'), {
    steps: [differing('changed', '1', '1')],
  } as unknown as RunDiff)
  expect(row).toMatchObject({ verdict: 'changed', carried: 1, differences: [] })
})

test('a difference is two texts: messages as people read them, all else as JSON', () => {
  const message = { role: 'user', parts: [{ type: 'text', text: 'Hello' }] }
  expect(comparedText({ path: 'messages[0]', area: 'messages', a: message })).toEqual({
    what: 'messages[0]',
    area: 'messages',
    a: 'user: Hello',
    b: '',
    missing: 'b',
  })
  expect(comparedText({ path: 'args', a: { a: 1 }, b: { a: 2 } })).toMatchObject({
    a: '{\n  "a": 1\n}',
    b: '{\n  "a": 2\n}',
  })
  expect(comparedText({ path: 'shipping', a: '4.90', b: 4.9 })).toMatchObject({
    a: '"4.90"',
    b: '4.9',
  })
})

test('a text that is too long is cut, and says so', () => {
  const { a, cut } = comparedText({ path: 'x', a: 'a'.repeat(200_000), b: 'b' })
  expect({ length: a.length, cut }).toEqual({ length: 100_000, cut: true })
})
