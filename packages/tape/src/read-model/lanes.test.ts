import { describe, expect, test } from 'vitest'
import { assignLanes, type LaneOptions, type TraceEntry } from './lanes.js'

/**
 * A trace in short form: `1` starts step 1, `t5` arms timer 5, `m9` is a mark, `s8` opens a socket,
 * `>1` delivers something for operation 1.
 */
const lanesOf = (text: string, options?: LaneOptions): Record<string, number[]> => {
  const trace = text.split(' ').map((word): TraceEntry => {
    const op = Number(word.replace(/^\D/, ''))
    if (word.startsWith('>')) return { type: 'delivery', op }
    const role = { t: 'other', s: 'background', m: 'instant' } as const
    return { type: 'start', op, role: role[word[0] as 't' | 's' | 'm'] ?? 'step' }
  })
  const { lanes } = assignLanes(trace, options)
  return Object.fromEntries(
    lanes.map(({ id, parent, steps }) => [parent === undefined ? id : `${id}<${parent}`, steps]),
  )
}

describe('lanes', () => {
  test("sequential steps stay in the run's own lane", () => {
    expect(lanesOf('1 >1 2 >2 >2 3 >3')).toEqual({ 0: [1, 2, 3] })
  })

  test('two concurrent chains are two stable lanes', () => {
    expect(lanesOf('1 2 >1 3 >2 4 >4 6 >3 5 >5 >6')).toEqual({ 0: [1, 3, 5], '1<0': [2, 4, 6] })
  })

  test('the order in which their answers come does not move a chain to another lane', () => {
    expect(lanesOf('1 2 >2 4 >1 3 >3 5 >4 6 >5 >6')).toEqual({ 0: [1, 3, 5], '1<0': [2, 4, 6] })
  })

  test('a chain that sleeps while another continues keeps its lane, and so does the other', () => {
    expect(lanesOf('1 2 >1 t10 >2 4 >4 6 >10 3 >6 8 >3 >8')).toEqual({
      0: [1, 3],
      '1<0': [2, 4, 6, 8],
    })
  })

  test('after a fan-out has joined, the run continues in its own lane', () => {
    expect(lanesOf('1 >1 2 3 4 >3 >2 >4 5 >5 6 >6')).toEqual({
      0: [1, 2, 5, 6],
      '1<0': [3],
      '2<0': [4],
    })
  })

  test("a fan-out right after a join starts from the run's own lane", () => {
    expect(lanesOf('1 2 >1 >2 3 4 >4 6 >3 >6')).toEqual({ 0: [1, 3], '1<0': [2], '2<0': [4, 6] })
  })

  test('timers armed at a join lead to steps of the run, not of the branch that came last', () => {
    expect(lanesOf('1 2 >1 >2 t8 t9 3 >8 4 >9 5 >3 >4 >5')).toEqual({
      0: [1, 3],
      '1<0': [2],
      '2<0': [4],
      '3<0': [5],
    })
  })

  test('a second fan-out opens new lanes', () => {
    expect(lanesOf('1 2 >2 >1 3 4 >4 >3')).toEqual({ 0: [1, 3], '1<0': [2], '2<0': [4] })
  })

  test('a fan-out inside a branch is a child of that branch', () => {
    expect(lanesOf('1 2 >2 3 4 >3 >4 >1')).toEqual({ 0: [1], '1<0': [2, 3], '2<1': [4] })
  })

  test('a step that starts before the end of the stream it reads continues in the same lane', () => {
    expect(lanesOf('1 >1 >1 2 >1 >2 3 >3')).toEqual({ 0: [1, 2, 3] })
  })

  test('a retry after a pause stays in its lane', () => {
    expect(lanesOf('1 2 >2 t9 >9 3 >3 >1')).toEqual({ 0: [1], '1<0': [2, 3] })
  })

  test('timers that never fire, open sockets and marks do not keep a lane alive', () => {
    expect(lanesOf('t20 s21 1 t22 2 >1 >2 m30 3 >3 >21')).toEqual({ 0: [1, 30, 3], '1<0': [2] })
  })

  test('an aborted request does not push later steps into other lanes', () => {
    expect(lanesOf('1 t9 2 >2 4 >9 3 >3 >4')).toEqual({ 0: [1, 3], '1<0': [2, 4] })
  })

  test('requests left without an answer when the run was killed are side by side', () => {
    expect(lanesOf('1 2 3')).toEqual({ 0: [1], '1<0': [2], '2<0': [3] })
  })

  test('a branch that continues alone keeps its lane if its steps are known to belong together', () => {
    const alone = '1 2 >1 >2 4 >4 6 >6 7 >7'
    expect(lanesOf(alone)).toEqual({ 0: [1, 4, 6, 7], '1<0': [2] })
    const continues = (op: number, earlier: readonly number[]): boolean =>
      op % 2 === 0 && earlier.at(-1) === op - 2
    expect(lanesOf(alone, { continues })).toEqual({ 0: [1, 7], '1<0': [2, 4, 6] })
  })

  test('steps whose answers resumed the agent are known', () => {
    const { causes } = assignLanes([
      { type: 'start', op: 1, role: 'step' },
      { type: 'delivery', op: 1 },
      { type: 'start', op: 2, role: 'step' },
      { type: 'delivery', op: 2 },
    ])
    expect([...causes]).toEqual([1])
  })
})
