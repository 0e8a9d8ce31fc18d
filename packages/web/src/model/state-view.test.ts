import type { CapturedState, Step } from '@retake/tape'
import { expect, test } from 'vitest'
import { stateView } from './state-view.js'

const location = { file: '/a.ts', line: 3, column: 1, mapped: false }

const state = (step: string, total: number): CapturedState => ({
  step,
  seq: Number(step),
  isDirect: true,
  location,
  source: 'total += price',
  frames: [
    {
      name: 'main',
      location,
      variables: [
        {
          name: 'total',
          scope: 'local',
          type: 'number',
          text: `${total}`,
          json: total,
          cut: false,
        },
      ],
    },
  ],
  asyncFrames: [],
})

test('a state is compared with the one captured before it, whichever step that is', () => {
  const view = stateView([state('1', 5), state('4', 7)], '4')
  expect(view).toMatchObject({ step: '4', comparedWith: '1', source: 'total += price' })
  expect(view?.changes).toEqual([{ path: 'main.total', before: 5, after: 7 }])
  expect(view?.frames[0]?.variables[0]?.json).toBe(7)
})

test('the first state is compared with nothing, and a step that was not captured has none', () => {
  const states = [state('1', 5)]
  expect(stateView(states, '1')).toMatchObject({ comparedWith: undefined, changes: [] })
  expect(stateView(states, '2')).toBeUndefined()
})

test('a state is compared with the previous one of its lane, not with other lanes', () => {
  const states = [state('1', 1), state('2', 20), state('3', 30), state('4', 21)]
  const lanes = [
    { id: 0, steps: [] },
    { id: 1, parent: 0, steps: [] },
    { id: 2, parent: 0, steps: [] },
  ]
  const laneOf: Record<string, number> = { 1: 0, 2: 1, 3: 2, 4: 1 }
  const view = {
    lanes,
    step: (label: string | number) => ({ lane: laneOf[label] }) as unknown as Step,
  }
  expect(stateView(states, '4', view)).toMatchObject({
    comparedWith: '2',
    sameLane: true,
    changes: [{ before: 20, after: 21 }],
  })
  // The first of a lane follows what its lane branched off.
  expect(stateView(states, '3', view)).toMatchObject({ comparedWith: '1', sameLane: true })
  expect(stateView(states, '2', view)).toMatchObject({ comparedWith: '1' })
  expect(stateView(states, '2', view)).not.toHaveProperty('sameLane')
})
