import {
  blankRow,
  type RowMessage,
  type RowState,
  type StepRow,
  toColumns,
  stepCountsText,
} from '@retake/tape/present'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CRASH_LABEL } from '../../../model/run-source.js'
import { RowStore } from './row-store.js'

const rowOf = (label: string, changes: Partial<StepRow> = {}): StepRow => ({
  ...blankRow({ label }),
  kind: 'model',
  title: `step ${label}`,
  ...changes,
})

const totals = {} as (RowMessage & { type: 'rest' })['totals']
const rows = (from: number, list: readonly StepRow[]): RowMessage => ({
  type: 'rows',
  from,
  rows: toColumns(list),
})
const rest = (
  inferred: readonly StepRow[],
  parents: readonly (readonly [number, string])[] = [],
): RowMessage => ({ type: 'rest', inferred: toColumns(inferred), parents, totals, events: 0 })

const listOf = (store: RowStore): StepRow[] =>
  Array.from({ length: store.length }, (_, index) => store.at(index))

describe('the rows of a run', () => {
  test('an inferred row follows the row that called it, also while rows are reloaded', () => {
    const store = new RowStore()
    store.add(rows(0, [rowOf('1'), rowOf('2', { state: 'running' })]))
    store.add(rest([rowOf('1.1', { parent: '1', inferred: true })]))
    store.add(rows(1, [rowOf('2'), rowOf('3')]))
    expect(listOf(store).map(({ label }) => label)).toEqual(['1', '1.1', '2', '3'])
    expect(store.isComplete).toBe(false)
    expect(store.indexOf('3')).toBe(3)
  })

  test('an inferred row without its parent is not lost', () => {
    const store = new RowStore()
    store.add(rows(0, [rowOf('1')]))
    store.add(rest([rowOf('9.1', { parent: '9', inferred: true })]))
    expect(listOf(store).map(({ label }) => label)).toEqual(['1', '9.1'])
    store.add(rows(1, [rowOf('2')]))
    store.add(rest([rowOf('9.1', { parent: '9', inferred: true })]))
    expect(listOf(store).map(({ label }) => label)).toEqual(['1', '2', '9.1'])
  })

  test('recorded and inferred steps are counted separately, without the row of a crash', () => {
    const store = new RowStore()
    store.add(rows(0, [rowOf('1'), rowOf('2'), rowOf(CRASH_LABEL)]))
    store.add(rest([rowOf('1.1', { parent: '1', inferred: true })]))
    expect([store.length, store.steps, store.inferred]).toEqual([4, 2, 1])
    expect(stepCountsText(store)).toBe('2 steps, 1 inferred tool call')
    expect(stepCountsText({ steps: 1, inferred: 0 })).toBe('1 step')
  })

  test('rows after a hole are refused', () => {
    const store = new RowStore()
    expect(() => store.add(rows(1, [rowOf('2')]))).toThrow('rows 0 to 1 are missing')
  })

  test('reading continues at the first row that may still change', () => {
    const store = new RowStore()
    store.add(rows(0, [rowOf('1'), rowOf('2', { state: 'running' }), rowOf('3')]))
    store.add(rest([rowOf('1.1', { parent: '1', inferred: true })]))
    expect(store.firstOpen()).toBe(1)
  })

  test.for([
    ['in doubt', undefined, 1],
    ['aborted', undefined, 1],
    ['aborted', 'AbortError', 3],
    ['failed', undefined, 3],
  ] as const)('a row that is %s with error %s is read again from %d on', ([state, error, from]) => {
    const store = new RowStore()
    store.add(rows(0, [rowOf('1'), rowOf('2', { state, error }), rowOf('3')]))
    expect(store.firstOpen()).toBe(from)
  })

  test('list, labels and columns always agree with a plain list', () => {
    fc.assert(
      fc.property(fc.array(readingArbitrary, { minLength: 1, maxLength: 6 }), (readings) => {
        const store = new RowStore()
        let recorded: StepRow[] = []
        for (const { from, fresh, pieces, requested, links } of readings) {
          const start = Math.min(from, recorded.length)
          const next = fresh.map((state, index) =>
            rowOf(String(start + index + 1), { state, lane: index, model: `m${index % 3}` }),
          )
          recorded = [...recorded.slice(0, start), ...next]
          for (let at = 0; at < next.length; at += pieces)
            store.add(rows(start + at, next.slice(at, at + pieces)))
          const inferred = requested.map(({ parent, state }, index) =>
            rowOf(`${parent}.${index}`, { parent: String(parent), inferred: true, state }),
          )
          const parents = links
            .filter((index) => index < recorded.length)
            .map((index) => [index, '1'] as const)
          store.add(rest(inferred, parents))

          const expected = recorded.flatMap((row, index) => [
            parents.some(([linked]) => linked === index) ? { ...row, parent: '1' } : row,
            ...inferred.filter(({ parent }) => parent === row.label),
          ])
          const listed = new Set(expected)
          expected.push(...inferred.filter((row) => !listed.has(row)))

          expect(listOf(store)).toEqual(expected)
          for (const [position, row] of expected.entries()) {
            expect(store.indexOf(row.label)).toBe(position)
            expect(store.columns.lane[position]).toBe(row.lane)
            expect(store.columns.inferred[position]).toBe(row.inferred ? 1 : 0)
            const model = store.columns.names[store.columns.model[position] ?? -1]
            expect(model).toBe(row.model)
          }
        }
      }),
      { numRuns: 100 },
    )
  })
})

const stateArbitrary = fc.constantFrom<RowState>('done', 'failed', 'running')

/** One reading of a run: rows from a place on, in pieces, and what needs all of them. */
const readingArbitrary = fc.record({
  from: fc.nat(8),
  fresh: fc.array(stateArbitrary, { minLength: 1, maxLength: 8 }),
  pieces: fc.integer({ min: 1, max: 4 }),
  requested: fc.array(
    fc.record({ parent: fc.integer({ min: 1, max: 9 }), state: stateArbitrary }),
    {
      maxLength: 4,
    },
  ),
  links: fc.uniqueArray(fc.nat(8), { maxLength: 3 }),
})
