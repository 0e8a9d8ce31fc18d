import type { CapturedVariable } from '@retake/tape'
import { expect, test } from 'vitest'
import { changedVariables } from './state-view.js'

const location = { file: '/a.ts', line: 1, column: 1 }

const variable = (name: string, scope = 'local'): CapturedVariable => ({
  name,
  scope,
  type: 'number',
  text: '1',
  json: 1,
  cut: false,
})

test('a variable of a module, of code outside functions and of a function is known as changed', () => {
  const [count, total, items, same] = [
    variable('count', 'module'),
    variable('total'),
    variable('items'),
    variable('itemsBefore'),
  ]
  const frames = [
    { name: 'main', location, variables: [items, same] },
    { name: '', location, variables: [count, total] },
  ]
  const changes = [
    { path: 'count' },
    { path: '(top level).total' },
    { path: 'main.items[0].price' },
  ]
  expect([...changedVariables({ frames, changes })]).toEqual([items, count, total])
})

test('of a function that calls itself only the call that was compared has changed', () => {
  const [inner, outer] = [variable('depth'), variable('depth')]
  const frames = [inner, outer].map((each) => ({ name: 'walk', location, variables: [each] }))
  const changed = changedVariables({ frames, changes: [{ path: 'walk.depth' }] })
  expect(changed.has(inner)).toBe(true)
  expect(changed.has(outer)).toBe(false)
})
