import type { FrameworkScope } from '@retake/tape'
import { rowAt } from '@retake/tape/present'
import { expect, test } from 'vitest'
import { CHAT, RunScript } from '../../test-support/run-script.js'
import { promptName } from './lane-layout.js'
import type { RunModel } from './run-model.js'

const inside = (...names: string[]): { within: FrameworkScope[] } => ({
  within: names.map((name) => ({ kind: 'agent', name })),
})
const ask = [{ role: 'user', content: 'a' }]

const lanesOf = (model: RunModel): unknown[] =>
  model.head().lanes.map(({ id, parent, depth, name, steps }) => [id, parent, depth, name, steps])

const laneOfRows = (model: RunModel): number[] => {
  const [first] = model.rows()
  if (first?.type !== 'rows') return []
  return first.rows.label.map((_, index) => rowAt(first.rows, index).lane)
}

test('agents that a supervisor calls in turn have lanes below its own', () => {
  const run = new RunScript()
  run.chat(ask, 'b', inside('supervisor'))
  run.chat(ask, 'b', inside('supervisor', 'researcher'))
  run.chat(ask, 'b', inside('supervisor', 'researcher', 'reader'))
  run.chat(ask, 'b', inside('supervisor', 'writer'))
  run.chat(ask, 'b', inside('supervisor', 'researcher'))
  run.chat(ask, 'b', inside('supervisor'))
  const model = run.model()
  expect(lanesOf(model)).toEqual([
    [0, undefined, 0, 'supervisor', 2],
    [1, 0, 1, 'researcher', 2],
    [2, 1, 2, 'reader', 1],
    [3, 0, 1, 'writer', 1],
  ])
  expect(laneOfRows(model)).toEqual([0, 1, 2, 3, 1, 0])
  expect(model.step('3')?.lane).toBe(2)
})

test('concurrent agents have separate lanes below the agent that calls them', () => {
  const run = new RunScript()
  run.chat(ask, 'b', inside('supervisor'))
  const first = run.request(CHAT, { messages: ask }, inside('supervisor', 'left'))
  const second = run.request(CHAT, { messages: ask }, inside('supervisor', 'right'))
  run.wait(50).answer(second, ['{}'])
  run.wait(50).answer(first, ['{}'])
  run.chat(ask, 'b', inside('supervisor'))
  const model = run.model()
  expect(lanesOf(model)).toEqual([
    [0, undefined, 0, 'supervisor', 2],
    [1, 0, 1, 'left', 1],
    [2, 0, 1, 'right', 1],
  ])
  const [, left, right] = model.head().lanes
  expect((left?.to ?? 0) - (left?.from ?? 0)).toBeGreaterThan(100)
  expect((right?.to ?? 0) - (right?.from ?? 0)).toBeLessThan(60)
})

test('a run without agents has the lanes of its concurrent work, and an empty run has one', () => {
  const run = new RunScript()
  const first = run.request(CHAT, { messages: ask })
  const second = run.request(CHAT, { messages: ask })
  run.answer(second, ['{}'])
  run.answer(first, ['{}'])
  expect(lanesOf(run.model())).toEqual([
    [0, undefined, 0, undefined, 1],
    [1, 0, 1, undefined, 1],
  ])
  expect(lanesOf(new RunScript().model())).toEqual([[0, undefined, 0, undefined, 0]])
})

test.each([
  ['You are the policy clerk. Use search_policy.', 'policy clerk'],
  ['You are a senior Java code reviewer', 'senior Java code'],
  ['You are the editor of a research team. Be brief.', 'editor'],
  ['Translate: every word', 'Translate'],
  ['', undefined],
])('a lane is called after its prompt: %s', (content, name) => {
  expect(promptName([{ role: 'system', parts: [{ type: 'text', text: content }] }])).toBe(name)
})
