import { expect, test } from 'vitest'
import { toColumns, type StepRow } from '@retake/tape/present'
import { findingsFile, sampleFindings } from '../../../../../../test/support/blame-findings.js'
import { readRunBlame } from '../../../model/run-blame.js'
import type { RunHead } from '../../../model/run-head.js'
import { BlameView } from '../../blame/blame-view.js'
import { RowStore } from '../row-store.js'
import { heatOf, markNear } from './timeline-data.js'
import { timelineData } from './timeline-data.js'

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
  expect(heat.seen).toEqual(['joint', 'back-up', 'echo', 'affected'])
  expect(Array.from(heat.indexes, (index) => [index, heat.roleAt(index)])).toEqual([
    [1, 'joint'],
    [4, 'joint'],
    [6, 'back-up'],
    [8, 'echo'],
    [9, 'affected'],
  ])
  expect(heat.roleAt(0)).toBeUndefined()
})

test('a step that the run does not have, or has not read yet, is no mark', () => {
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
