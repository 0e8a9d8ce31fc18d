import { expect, test } from 'vitest'
import { fairOrder, type OrgLoad } from './job-queue.js'

const load = (org: string, waiting: number, running: number): OrgLoad => ({ org, waiting, running })

test('the organization with the fewest running jobs comes first, however many wait elsewhere', () => {
  const loads = [load('busy', 500, 3), load('small', 1, 0), load('idle', 0, 0)]
  expect(fairOrder(loads, new Map())).toEqual(['small', 'busy'])
})

test('organizations with equally many running jobs take turns', () => {
  const loads = [load('a', 5, 1), load('b', 5, 1), load('c', 5, 1)]
  const turns = new Map([
    ['a', 7],
    ['b', 3],
  ])
  expect(fairOrder(loads, turns)).toEqual(['c', 'b', 'a'])
})

test('a flood of one organization leaves half of the slots to another', () => {
  const waiting = new Map([
    ['flood', 100],
    ['small', 10],
  ])
  const running = new Map<string, number>()
  const lastTurn = new Map<string, number>()
  for (let turn = 1; turn <= 20; turn++) {
    const loads = [...waiting].map(([org, count]) => load(org, count, running.get(org) ?? 0))
    const [org = ''] = fairOrder(loads, lastTurn)
    lastTurn.set(org, turn)
    waiting.set(org, (waiting.get(org) ?? 0) - 1)
    running.set(org, (running.get(org) ?? 0) + 1)
  }
  expect(Object.fromEntries(running)).toEqual({ flood: 10, small: 10 })
})
