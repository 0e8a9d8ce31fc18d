import { expect, test } from 'vitest'
import { toColumns, type StepRow } from '@retake/tape/present'
import type { RunHead } from '../../../model/run-head.js'
import { RowStore } from '../row-store.js'
import { firstReaching, rowAtTime, rowNear, timelineData } from './timeline-data.js'

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

test('the playhead stands at the last step that had begun', () => {
  const data = dataOf([0, 100, 10], [0, 200, 10], [0, 300])
  const at = (time: number) => rowAtTime(data, data.scale.toDrawn(time))
  expect([at(0), at(250), at(990)]).toEqual([0, 1, 2])
})

test('lanes that the head does not know, and strange ones, have lines too', () => {
  const data = dataOf([0, 0, 1], [7, 0, 1], [9_000_000, 0, 1])
  expect(data.lines.map(({ lane }) => lane)).toEqual([0, 7, 9_000_000])
  expect(data.rows.map(({ indexes }) => [...indexes])).toEqual([[0], [1], [2]])
})
