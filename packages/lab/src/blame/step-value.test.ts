import type { Message, Step } from '@retake/tape'
import { expect, test } from 'vitest'
import { stepValue } from './findings.js'

const step = (facts: Partial<Step>): Step =>
  ({
    kind: 'tool',
    state: 'done',
    failure: undefined,
    toolCalls: [],
    exchange: () => undefined,
    call: () => undefined,
    mcp: () => undefined,
    answer: () => [],
    ...facts,
  }) as Step

const says = (text: string): Step => {
  const message: Message = { role: 'assistant', parts: [{ type: 'text', text }] }
  return step({ kind: 'model', answer: () => [message] })
}
const asksFor = (id: string, args: unknown): Step =>
  step({ kind: 'model', toolCalls: [{ type: 'tool_call', id, name: 'search', args }] })
const returns = (result: unknown): Step =>
  step({ call: () => ({ name: 'search', args: {}, result, error: undefined, output: [] }) })
const throws = (message: string): Step =>
  step({ failure: { class: 'TypeError', name: 'TypeError', message, stack: '' } as never })

test('ids, order of keys, case, spaces and punctuation make no difference', () => {
  expect(stepValue(asksFor('call_1', { a: 1, b: [2] }))).toBe(
    stepValue(asksFor('call_2', { b: [2], a: 1 })),
  )
  expect(stepValue(says('It is  denied.\n'))).toBe(stepValue(says('it is “denied”')))
  expect(stepValue(returns({ a: 1, b: { c: 2, d: 3 } }))).toBe(
    stepValue(returns({ b: { d: 3, c: 2 }, a: 1 })),
  )
  expect(stepValue(throws('at 10:01'))).toBe(stepValue(throws('at 10:02')))
})

test('texts, tool calls and results make a difference', () => {
  const values = [
    says('within 30 days'),
    says('within 60 days'),
    says('3.5'),
    says('35'),
    asksFor('call_1', { a: 1 }),
    asksFor('call_1', { a: 2 }),
    returns({ a: [1, 2] }),
    returns({ a: [2, 1] }),
    returns(undefined),
    returns(new Map([['a', 1]])),
    returns(new Map([['a', 2]])),
    returns({ paid: 5n }),
    returns({ paid: 6n }),
    throws('x'),
  ].map(stepValue)
  expect(new Set(values).size).toBe(values.length)
})
