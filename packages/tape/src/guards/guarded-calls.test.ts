import { expect, test } from 'vitest'
import { EventScript } from '../../test-support/event-script.js'
import type { GuardIntent } from './guard-facts.js'
import { recordError } from '../format/values/to-wire.js'
import { guardedCalls, readGuards } from './guarded-calls.js'
import { readRun } from '../read-model/run-view.js'

const intent = (call: number, more: Partial<GuardIntent> = {}): GuardIntent => ({
  guard: 'refunds',
  call,
  fingerprint: `f${call}`,
  occurrence: 1,
  verdict: 'allow',
  policy: 'p1',
  ...more,
})
const kept = (tape: EventScript, name: string, value: unknown) =>
  tape.add({ type: 'note', kind: 'attachment', name }, JSON.stringify(value))

const HOST = { node: 'v20', platform: 'linux', retake: {} }

function script(): EventScript {
  const tape = new EventScript()
  kept(tape, 'guard', { guard: 'refunds', policy: { hash: 'p1', policies: [] }, environment: HOST })
  tape.add({ type: 'draw', kind: 'guard', value: intent(1) })
  const lookup = tape.tool('lookup', { id: 7 })
  const inside = kept(tape, 'guard-call', {
    intent: intent(2, { within: 'f1-1' }),
    tool: 'audit',
    as: 'json',
    body: '{"who":"me"}',
  })
  kept(tape, 'guard-result', {
    op: inside,
    facts: { status: 'done' },
    as: 'text',
    body: 'noted',
  })
  tape.wait(30).result(lookup, { found: true })
  tape.add({ type: 'draw', kind: 'guard', value: intent(3, { verdict: 'deny', rule: 'p/1' }) })
  const wipe = tape.tool('wipe', {})
  tape.add({
    type: 'result',
    op: wipe,
    error: recordError(new Error('no')),
    guard: { status: 'denied', attempts: 0 },
  })
  tape.add({ type: 'draw', kind: 'guard', value: intent(4) })
  tape.tool('pay', { amount: 5 })
  tape.add({ type: 'draw', kind: 'guard', value: intent(5, { verdict: 'ask' }) })
  tape.tool('ask', {})
  return tape
}

test('guarded calls are paired with their decisions and results', () => {
  const calls = guardedCalls(script())
  expect(calls.map(({ tool, state, isNested }) => [tool, state, isNested])).toEqual([
    ['lookup', 'done', false],
    ['audit', 'done', true],
    ['wipe', 'denied', false],
    ['pay', 'in doubt', false],
    ['ask', 'stopped', false],
  ])
  expect(calls.map((call) => call.args())).toEqual([
    { id: 7 },
    { who: 'me' },
    {},
    { amount: 5 },
    {},
  ])
  expect(calls.map((call) => call.output())).toEqual([
    { found: true },
    'noted',
    undefined,
    undefined,
    undefined,
  ])
  expect(calls[0]?.latencyMs).toBeGreaterThanOrEqual(30)
})

test('the policy that was in force is on the tape', () => {
  expect(readGuards(script()).guards).toMatchObject([{ guard: 'refunds', policy: { hash: 'p1' } }])
})

test('a step shows what a guard did with it', () => {
  const [lookup, wipe] = readRun(script()).recordedSteps
  expect(lookup).toMatchObject({ state: 'done', guard: { policy: 'p1' } })
  expect(wipe).toMatchObject({ state: 'denied', guard: { status: 'denied', rule: 'p/1' } })
})

test('spending beside results is reported once: attempts only of calls without a result', () => {
  const tape = new EventScript()
  const usage = (costUsd: number) => ({ guard: 'refunds', usage: { costUsd } })
  kept(tape, 'guard-spent', { ...usage(1), isSaidAgain: true })
  const calls: number[] = []
  for (const call of [1, 2, 3]) {
    tape.add({ type: 'draw', kind: 'guard', value: intent(call) })
    const op = tape.tool('pay', {})
    calls.push(op)
    kept(tape, 'guard-spent', { ...usage(call * 10), tool: 'pay', op })
  }
  const [ended = 0, again = 0, open = 0] = calls
  tape.add({ type: 'result', op: ended, guard: { status: 'done', attempts: 2 } })
  kept(tape, 'guard-spent', { ...usage(2), tool: 'pay', op: ended })
  // Made again: its earlier cost includes the earlier attempts.
  kept(tape, 'guard-again', { op: again, intent: intent(2), spent: { costUsd: 25 } })
  kept(tape, 'guard-spent', { ...usage(3), tool: 'pay', op: again })
  const { spent } = readGuards(tape)
  expect(spent.map((each) => [each.op, each.tool, each.usage.costUsd])).toEqual([
    [undefined, undefined, 1],
    [ended, 'pay', 2],
    [undefined, 'pay', 25],
    [open, 'pay', 30],
    [again, 'pay', 3],
  ])
})

test.each([
  ['a decision', (tape: EventScript) => tape.add({ type: 'draw', kind: 'guard', value: null })],
  [
    'facts of a result',
    (tape: EventScript) =>
      tape.add({ type: 'result', op: tape.tool('pay', {}), guard: { status: 'free' } }),
  ],
])('%s that no guard wrote is named, and steps are shown without it', (_, write) => {
  const tape = new EventScript()
  const seq = write(tape)
  tape.tool('pay', {})
  const [corrupt, where] = [{ code: 'TAPE_CORRUPT', seq }, expect.stringContaining('guard')]
  expect(() => readGuards(tape)).toThrow(expect.objectContaining({ ...corrupt, why: where }))
  expect(readRun(tape).recordedSteps.every(({ guard }) => guard === undefined)).toBe(true)
})
