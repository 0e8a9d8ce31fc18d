import {
  blankRow,
  KINDS,
  ORIGINS,
  type RowMessage,
  STATES,
  type StepRow,
  toColumns,
} from '@retake/tape/present'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { choicesOf, FilteredRows, type RowFilter } from './row-filter.js'
import { RowStore } from './row-store.js'

const rowArbitrary = fc.record({
  kind: fc.constantFrom(...KINDS),
  state: fc.constantFrom(...STATES),
  origin: fc.constantFrom(...ORIGINS),
  lane: fc.nat(3),
  tool: fc.constantFrom(undefined, 'search', 'read'),
  model: fc.constantFrom(undefined, 'big', 'small'),
  costUsd: fc.constantFrom(undefined, 0, 0.01, 0.5),
  at: fc.nat(100),
  latencyMs: fc.constantFrom(undefined, 5, 50),
})

const makeRow = (fields: Partial<StepRow>, label: string): StepRow => ({
  ...blankRow({ label }),
  title: label,
  ...fields,
})

const some = <T>(...values: readonly T[]) =>
  fc.option(fc.subarray([...values], { minLength: 1 }), { nil: undefined })
const filterArbitrary: fc.Arbitrary<RowFilter> = fc.record({
  kind: some(...KINDS),
  state: some(...STATES),
  origin: some(...ORIGINS),
  lane: some(0, 1, 2, 3),
  tool: some('search', 'read', 'never seen'),
  model: some('big', 'small'),
  cost: fc.constantFrom(undefined, 0, 0.01),
  from: fc.constantFrom(undefined, 20),
  to: fc.constantFrom(undefined, 60),
})

/** The same rule, said plainly. */
function fits(row: StepRow, filter: RowFilter): boolean {
  const isIn = <T>(list: readonly T[] | undefined, value: T | undefined): boolean =>
    list === undefined || (value !== undefined && list.includes(value))
  const end = row.state === 'running' ? Infinity : row.at + (row.latencyMs ?? 0)
  return (
    isIn(filter.kind, row.kind) &&
    isIn(filter.state, row.state) &&
    isIn(filter.origin, row.origin) &&
    isIn(filter.lane, row.lane) &&
    isIn(filter.tool, row.tool) &&
    isIn(filter.model, row.model) &&
    (filter.cost === undefined || (row.costUsd ?? -1) >= filter.cost) &&
    (filter.to === undefined || row.at <= filter.to) &&
    (filter.from === undefined || end >= filter.from)
  )
}

const message = (from: number, rows: readonly StepRow[]): RowMessage => ({
  type: 'rows',
  from,
  rows: toColumns(rows),
})

describe('filtered rows', () => {
  test('are those that fit, also when rows come later and replace others', () => {
    const pieces = fc.array(
      fc.record({ back: fc.nat(4), rows: fc.array(rowArbitrary, { minLength: 1, maxLength: 8 }) }),
      { minLength: 1, maxLength: 5 },
    )
    fc.assert(
      fc.property(pieces, filterArbitrary, (readings, filter) => {
        const store = new RowStore()
        const shown = new FilteredRows(store, filter)
        let all: StepRow[] = []
        for (const { back, rows } of readings) {
          const from = Math.max(0, all.length - back)
          const next = rows.map((fields, index) => makeRow(fields, String(from + index + 1)))
          all = [...all.slice(0, from), ...next]
          store.add(message(from, next))
          shown.update()
          const expected = all.flatMap((row, index) => (fits(row, filter) ? [index] : []))
          const indexes = Array.from({ length: shown.length }, (_, index) => shown.rowAt(index))
          expect(indexes).toEqual(expected)
          expect(shown.hidden).toBe(all.length - expected.length)
          for (let position = 0; position < all.length; position++)
            expect(shown.has(position)).toBe(expected.includes(position))
        }
      }),
      { numRuns: 100 },
    )
  })

  test('of 100,000 are found in a few milliseconds', () => {
    const store = new RowStore()
    const rows = Array.from({ length: 1000 }, (_, index) =>
      makeRow({ kind: KINDS[index % 6]!, lane: index % 9, tool: `t${index % 5}` }, String(index)),
    )
    for (let piece = 0; piece < 100; piece++) store.add(message(piece * 1000, rows))
    const filter: RowFilter = { kind: ['tool'], tool: ['t1'], from: 0, to: 10 }
    // Processor time, and the best of some: other work of the machine is not measured.
    const times = Array.from({ length: 8 }, () => {
      const before = process.cpuUsage()
      expect(new FilteredRows(store, filter).update().length).toBe(3400)
      const { user, system } = process.cpuUsage(before)
      return (user + system) / 1000
    })
    expect(Math.min(...times)).toBeLessThan(20)
  })

  test('selectable values come with their row counts, and include the selected ones', () => {
    const store = new RowStore()
    store.add(
      message(0, [
        makeRow({ tool: 'read' }, '1'),
        makeRow({ tool: 'read' }, '2'),
        makeRow({}, '3'),
      ]),
    )
    const filter = { tool: ['gone'] }
    expect(choicesOf(store.columns, 'tool', filter)).toEqual([
      { value: 'read', count: 2 },
      { value: 'gone', count: 0 },
    ])
  })
})
