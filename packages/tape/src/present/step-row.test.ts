import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EventScript } from '../../test-support/event-script.js'
import { readRun } from '../read-model/run-view.js'
import {
  blankRow,
  isSameRow,
  KINDS,
  ORIGINS,
  rowAt,
  rowOf,
  STATES,
  STEP_CELLS,
  toColumns,
  type StepRow,
} from './step-row.js'

const orMissing = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
const name = orMissing(fc.constantFrom('big', 'small', ''))
const row: fc.Arbitrary<StepRow> = fc.record({
  label: fc.string(),
  seq: fc.nat(),
  kind: fc.constantFrom(...KINDS),
  state: fc.constantFrom(...STATES),
  origin: fc.constantFrom(...ORIGINS),
  title: fc.string(),
  at: fc.nat(),
  latencyMs: orMissing(fc.nat()),
  lane: fc.nat(),
  provider: name,
  model: name,
  tool: name,
  tokensIn: orMissing(fc.nat()),
  tokensOut: orMissing(fc.nat()),
  costUsd: orMissing(fc.nat()),
  error: orMissing(fc.string()),
  parent: orMissing(fc.string()),
  within: fc.array(fc.constantFrom('agent a', 'node b')),
  inferred: fc.constant(false),
})

test('rows are the same after columns and JSON', () => {
  fc.assert(
    fc.property(fc.array(row), (rows) => {
      const columns = JSON.parse(JSON.stringify(toColumns(rows))) as ReturnType<typeof toColumns>
      expect(rows.map((_, index) => rowAt(columns, index))).toEqual(rows)
    }),
  )
})

test('a changed row is distinguished from an unchanged one', () => {
  const before = toColumns([blankRow({ label: '1' }), blankRow({ label: '2' })])
  const after = toColumns([blankRow({ label: '1' }), blankRow({ label: '2', state: 'failed' })])
  expect([0, 1].map((index) => isSameRow(before, after, index))).toEqual([true, false])
})

test('cells show figures, are empty if there is none, and undefined if unknown', () => {
  const model = blankRow({ label: '3', kind: 'model', at: 1500, latencyMs: 80 })
  expect(STEP_CELLS.tokens.text(model)).toBeUndefined()
  expect(STEP_CELLS.tokens.text({ ...model, state: 'failed' })).toBe('')
  expect(STEP_CELLS.tokens.text({ ...model, tokensIn: 1200, tokensOut: 7 })).toBe('1,200 → 7')
  expect(STEP_CELLS.cost.text({ ...model, costUsd: 0.5 })).toBe('$0.50')
  expect(STEP_CELLS.took.text(model)).toBe('80 ms')
  expect(STEP_CELLS.took.text({ ...model, inferred: true })).toBe('')
  expect(STEP_CELLS.within.text({ ...model, within: ['agent a', 'node b c'] })).toBe('a › b c')
})

test('a request without an answer says so, and of a run in progress that it is awaited', () => {
  const tape = new EventScript()
  tape.request('https://api.openai.com/v1/chat/completions', {
    model: 'gpt-5-mini',
    messages: [{ role: 'user', content: 'hello' }],
  })
  tape.request('https://shop.test/orders', { id: 7 })
  tape.status = 'truncated'
  const titles = (status: 'killed' | 'recording'): string[] =>
    readRun(tape).steps.map((step) => rowOf(tape as never, step, { status, laneOf: () => 0 }).title)
  expect(titles('killed')).toEqual([
    'gpt-5-mini → no answer',
    'POST https://shop.test/orders (no answer)',
  ])
  expect(titles('recording')).toEqual([
    'gpt-5-mini → answering…',
    'POST https://shop.test/orders (answering…)',
  ])
})
