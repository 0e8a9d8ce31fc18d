import { expect, test } from 'vitest'
import type { CapturedState, CapturedVariable } from './captured-state.js'
import { stateDifference } from './state-difference.js'

const location = { file: '/a.ts', line: 1, column: 1, mapped: false }

const state = (step: string, frames: Record<string, Record<string, unknown>>): CapturedState => ({
  step,
  seq: Number(step),
  isDirect: true,
  location,
  frames: Object.entries(frames).map(([name, variables]) => ({
    name,
    location,
    variables: Object.entries(variables).map(([variable, json]): CapturedVariable => ({
      name: variable,
      scope: name === 'module' ? 'module' : 'local',
      type: typeof json,
      text: '',
      json,
      cut: false,
    })),
  })),
  asyncFrames: [],
})

test('changes are named by function, variable and path', () => {
  const before = state('1', { main: { cart: { items: [{ price: 1 }], open: true }, same: 'x' } })
  const after = state('2', { main: { cart: { items: [{ price: 2 }, {}] }, same: 'x', new: 1 } })
  expect(stateDifference(before, after)).toEqual([
    { path: 'main.cart.items[0].price', before: 1, after: 2 },
    { path: 'main.cart.items[1]', after: {} },
    { path: 'main.cart.open', before: true },
    { path: 'main.new', after: 1 },
  ])
})

test('variables of the module belong to no function', () => {
  const before = state('1', { module: { count: 1 } })
  const after = state('2', { module: { count: 2 } })
  expect(stateDifference(before, after)).toEqual([{ path: 'count', before: 1, after: 2 }])
})

test('a value that becomes another kind is one change', () => {
  const before = state('1', { main: { a: [1] } })
  const after = state('2', { main: { a: { 0: 1 } } })
  expect(stateDifference(before, after)).toEqual([{ path: 'main.a', before: [1], after: { 0: 1 } }])
})

test('a value that becomes one of another kind is one change, not one for each member', () => {
  const before = state('1', { main: { message: { $type: 'undefined' } } })
  const after = state('2', { main: { message: { role: 'assistant', content: 'x' } } })
  expect(stateDifference(before, after)).toEqual([
    {
      path: 'main.message',
      before: { $type: 'undefined' },
      after: { role: 'assistant', content: 'x' },
    },
  ])
})
