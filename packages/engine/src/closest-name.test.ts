import { expect, test } from 'vitest'
import { closestName } from './closest-name.js'

const names = ['record', 'replay', 'list', 'show', 'verify']

test.each([
  ['recrod', 'record'],
  ['reply', 'replay'],
  ['verfiy', 'verify'],
  ['lst', 'list'],
  ['ver', 'verify'],
])('%s is probably %s', (typed, meant) => {
  expect(closestName(typed, names)).toBe(meant)
})

test('no name is suggested if none is similar', () => {
  expect(closestName('publish', names)).toBeUndefined()
  expect(closestName('--help', names)).toBeUndefined()
  for (const typed of ['fix', 'gc', 'rm', 'run'])
    expect(closestName(typed, [...names, 'ui', 'fork', 'eval'])).toBeUndefined()
})
