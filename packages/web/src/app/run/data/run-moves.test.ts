import { blankRow, type RowState, type StepRow, toColumns } from '@retake/tape/present'
import { describe, expect, test } from 'vitest'
import {
  FilteredRows,
  type RowFilter,
  initialStep,
  moveBy,
  moveInLane,
  moveToFailed,
} from './row-filter.js'
import { RowStore } from './row-store.js'

/** Rows as `lane:state`. */
function rowsOf(...texts: readonly string[]): RowStore {
  const store = new RowStore()
  const rows = texts.map((text, index): StepRow => {
    const [lane, state = 'done'] = text.split(':')
    return {
      ...blankRow({ label: String(index + 1) }),
      seq: index,
      state: state as RowState,
      at: index,
      latencyMs: 1,
      lane: Number(lane),
    }
  })
  store.add({ type: 'rows', from: 0, rows: toColumns(rows) })
  return store
}

const shownOf = (store: RowStore, filter: RowFilter = {}): FilteredRows =>
  new FilteredRows(store, filter).update()

describe('moving through the steps', () => {
  test('stops at both ends', () => {
    const shown = shownOf(rowsOf('0', '0', '0'))
    expect([moveBy(shown, 0, 1), moveBy(shown, 2, 1), moveBy(shown, 0, -1)]).toEqual([1, 2, 0])
  })

  test('continues from a step that the filter hides', () => {
    const shown = shownOf(rowsOf('1', '0', '1', '0', '1'), { lane: [1] })
    expect([moveBy(shown, 1, 1), moveBy(shown, 1, -1), moveBy(shown, 3, 1)]).toEqual([2, 0, 4])
  })

  test('has nowhere to go where nothing is shown', () => {
    expect(moveBy(shownOf(rowsOf('0'), { lane: [7] }), 0, 1)).toBe(-1)
  })

  test('keeps to a lane', () => {
    const shown = shownOf(rowsOf('0', '1', '0', '1'))
    expect([moveInLane(shown, 1, 1), moveInLane(shown, 3, -1), moveInLane(shown, 3, 1)]).toEqual([
      3, 1, -1,
    ])
  })

  test('finds earlier and later failures', () => {
    const shown = shownOf(rowsOf('0', '0:failed', '0', '0:failed'))
    expect([moveToFailed(shown, -1, 1), moveToFailed(shown, 1, 1)]).toEqual([1, 3])
    expect([moveToFailed(shown, 3, -1), moveToFailed(shown, 3, 1)]).toEqual([1, -1])
  })

  test('finds failures on both sides of a step that the filter hides', () => {
    const shown = shownOf(rowsOf('0:failed', '1', '0:failed'), { lane: [0] })
    expect([moveToFailed(shown, 1, -1), moveToFailed(shown, 1, 1)]).toEqual([0, 2])
  })

  test('opens the first failure, or the beginning when all is read', () => {
    expect(initialStep(rowsOf('0', '0:failed'))).toBe(1)
    const store = rowsOf('0', '0')
    expect(initialStep(store)).toBeUndefined()
    store.add({
      type: 'rest',
      inferred: toColumns([]),
      parents: [],
      totals: {} as never,
      events: 0,
    })
    expect(initialStep(store)).toBe(0)
    expect(initialStep(store, true)).toBe(1)
  })
})
