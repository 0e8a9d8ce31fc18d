import { KINDS, roleWord, STATES, type StepRow, toColumns } from '@retake/tape/present'
import { expect, test } from 'vitest'
import type { RunHead } from '../../../model/run-source.js'
import { makeListColumns, RowStore } from '../data/row-store.js'
import {
  firstReaching,
  heatOf,
  laneLines,
  markNear,
  overlayValues,
  rowAtTime,
  rowNear,
  sumText,
  timelineData,
} from './timeline-data.js'
import {
  findingsFile,
  rateOf,
  sampleFindings,
  stepIn,
} from '../../../../../../test/support/blame-findings.js'
import { readRunBlame } from '@retake/tape'
import { BlameView } from '../../blame/blame-view.js'

/** Model calls by their state and cost. */
function columnsOf(...calls: readonly (readonly [(typeof STATES)[number], number | undefined])[]) {
  const columns = makeListColumns()
  for (const [index, [state, costUsd]] of calls.entries()) {
    columns.kind[index] = KINDS.indexOf('model')
    columns.state[index] = STATES.indexOf(state)
    columns.costUsd[index] = costUsd ?? Number.NaN
    columns.latencyMs[index] = 1000
    columns.tokensIn[index] = Number.NaN
  }
  columns.length = calls.length
  return columns
}

test('a sum says how many calls it does not cover; one that was refused cost nothing', () => {
  const columns = columnsOf(['done', 1], ['failed', undefined], ['done', undefined], ['done', 2])
  const values = overlayValues(columns, 'cost')!
  expect(sumText('cost', values, 1)).toBe('$1.00 of $3.00, without 1 call of unknown cost')
  expect(sumText('cost', values, 3)).toBe('$3.00 of $3.00, without 1 call of unknown cost')
  expect(values.max).toBe(2)
})

test('a call that broke off after it had used something is not free', () => {
  const columns = columnsOf(['done', 1], ['failed', undefined])
  const sum = (): string => sumText('cost', overlayValues(columns, 'cost')!, 1)
  expect(sum()).toBe('$1.00 of $1.00')
  columns.tokensIn[1] = 12
  expect(sum()).toBe('$1.00 of $1.00, without 1 call of unknown cost')
})

test('latency adds up to time spent in steps', () => {
  const columns = columnsOf(['done', 1], ['done', 1])
  expect(sumText('latency', overlayValues(columns, 'latency')!, 0)).toBe('1.0 s of 2.0 s in steps')
})

test('without a figure nothing is added up', () => {
  expect(overlayValues(columnsOf(['done', 1]), 'none')).toBeUndefined()
})

const linesOf = (...parameters: Parameters<typeof laneLines>): string[] =>
  laneLines(...parameters).map(({ name, depth }) => `${' '.repeat(depth)}${name}`)

test('a lane is below the one it came from', () => {
  const lanes = [
    { id: 0, depth: 0 },
    { id: 1, parent: 0, depth: 1, name: 'researcher' },
    { id: 2, parent: 0, depth: 1 },
    { id: 3, parent: 1, depth: 2, name: 'reader' },
  ]
  expect(linesOf(lanes, [0, 1])).toEqual(['main', ' researcher', '  reader', ' lane 2'])
})

test('a lane that only rows know of is not left out', () => {
  expect(linesOf([{ id: 0, depth: 0 }], [0, 7, 7])).toEqual(['main', 'lane 7'])
})

test('lanes that name each other as parents are still all there', () => {
  const lanes = [
    { id: 1, parent: 2, depth: 1 },
    { id: 2, parent: 1, depth: 1 },
  ]
  expect(linesOf(lanes, [])).toEqual(['lane 1', 'lane 2'])
})

/** So many rows, one a second, each half a second long. */
function rowsOf(count: number): RowStore {
  const rows = Array.from({ length: count }, (_, index) => ({
    label: String(index + 1),
    kind: 'tool',
    state: 'done',
    lane: 0,
    at: index * 1000,
    latencyMs: 500,
    within: [],
  }))
  const store = new RowStore()
  store.add({ type: 'rows', from: 0, rows: toColumns(rows as unknown as StepRow[]) })
  return store
}

const view = new BlameView(readRunBlame(findingsFile('r', sampleFindings()), 'r'))

test('only steps that had something to do with it are marked, the worst first', () => {
  const heat = heatOf(view, rowsOf(11))
  if (heat === undefined) throw new Error('nothing is marked')
  expect(heat.seen.map(({ role }) => role)).toEqual(['joint', 'back-up', 'echo', 'affected'])
  expect(Array.from(heat.indexes, (index) => [index, heat.stepAt(index)?.role])).toEqual([
    [1, 'joint'],
    [4, 'joint'],
    [6, 'back-up'],
    [8, 'echo'],
    [9, 'affected'],
  ])
  expect(heat.stepAt(0)).toBeUndefined()
})

test('a step that the failure only depends on keeps what says so, also for the legend', () => {
  const causes = [{ role: 'root', steps: ['2'], sufficiency: rateOf(3, 3), shares: [1] } as const]
  const steps = [stepIn('1', 'clear'), { ...stepIn('2', 'root'), intervention: 'field' } as const]
  const file = findingsFile('r', sampleFindings({ causes, steps }))
  const heat = heatOf(new BlameView(readRunBlame(file, 'r')), rowsOf(3))
  expect(heat?.seen.map(roleWord)).toEqual(['needed'])
  expect(roleWord(heat!.stepAt(1)!)).toBe('needed')
})

test('a step that the run does not have, or has not loaded yet, has no mark', () => {
  expect(heatOf(view, rowsOf(6))?.indexes).toEqual(Int32Array.of(1, 4))
  expect(heatOf(view, rowsOf(1))).toBeUndefined()
})

test('the mark under the pointer is the nearest one; of two that are as near, the worse', () => {
  const rows = rowsOf(11)
  const head = { durationMs: 11_000, lanes: [{ id: 0, depth: 0 }] } as unknown as RunHead
  const [heat, data] = [heatOf(view, rows), timelineData(rows, head)]
  if (heat === undefined) throw new Error('nothing is marked')
  const at = (index: number): number => (data.from[index] ?? 0) / 100
  const near = (x: number): number => markNear(heat, data, { x, xOf: (drawn) => drawn / 100 })
  expect([near(at(4)), near(at(4) + 7), near(at(8)), near(at(2) + 1)]).toEqual([4, 4, 8, -1])
  expect(near((at(8) + at(9)) / 2)).toBe(8)
})

/** Steps as lane, beginning, length. */
function dataOf(...steps: readonly (readonly [lane: number, at: number, latencyMs?: number])[]) {
  const store = new RowStore()
  const rows = steps.map(([lane, at, latencyMs], index) => ({
    label: String(index + 1),
    kind: 'tool',
    state: 'done',
    lane,
    at,
    latencyMs,
    within: [],
  }))
  store.add({ type: 'rows', from: 0, rows: toColumns(rows as unknown as StepRow[]) })
  const head = { durationMs: 1000, lanes: [{ id: 0, depth: 0 }] } as unknown as RunHead
  return timelineData(store, head)
}

test('a step is found by where it is drawn, the later one where two overlap', () => {
  const data = dataOf([0, 0, 400], [0, 100, 50], [0, 500, 500], [3, 0, 900])
  const near = (line: number, drawn: number) => rowNear(data, line, { drawn, within: 10 })
  expect([near(0, 50), near(0, 120), near(0, 300), near(0, 405), near(0, 450)]).toEqual([
    0, 1, 0, 0, -1,
  ])
  expect([near(1, 50), near(2, 50)]).toEqual([3, -1])
})

test('a long step is not missed when only its end is seen', () => {
  const data = dataOf([0, 0, 900], [0, 10, 5], [0, 20, 5], [0, 950, 10])
  expect(firstReaching(data.rows[0]!, 800)).toBe(0)
  expect(firstReaching(data.rows[0]!, 920)).toBe(3)
})

test('the playhead is at the last started step', () => {
  const data = dataOf([0, 100, 10], [0, 200, 10], [0, 300])
  const at = (time: number) => rowAtTime(data, data.scale.toDrawn(time))
  expect([at(0), at(250), at(990)]).toEqual([0, 1, 2])
})

test('lanes that the head does not know, and strange ones, have lines too', () => {
  const data = dataOf([0, 0, 1], [7, 0, 1], [9_000_000, 0, 1])
  expect(data.lines.map(({ lane }) => lane)).toEqual([0, 7, 9_000_000])
  expect(data.rows.map(({ indexes }) => [...indexes])).toEqual([[0], [1], [2]])
})
