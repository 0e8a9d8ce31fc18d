import type { Message } from '@retake/tape'
import { expect, test } from 'vitest'
import { firstShown, pairTools } from './chat-tab.js'

const call = (id: string): Message => ({
  role: 'assistant',
  parts: [{ type: 'tool_call', id, name: 'look', args: {} }],
})
const result = (id: string): Message => ({
  role: 'tool',
  parts: [{ type: 'tool_result', id, content: 'found' }],
})
const say: Message = { role: 'user', parts: [{ type: 'text', text: 'hi' }] }

test('a result belongs to the call with its id, in a message before it', () => {
  const { results } = pairTools([call('a'), call('b'), result('b'), result('c')], 10)
  expect([...results].map(([id, { path }]) => [id, path])).toEqual([
    ['b', 'messages.12.parts.0.content'],
  ])
})

test('calls without an id are paired with nothing', () => {
  expect(pairTools([call(''), result('')], 0).results.size).toBe(0)
})

test('when a result is new, the message with its call is shown, too', () => {
  const messages = [say, say, call('a'), result('a')]
  const conversation = { total: 14, from: 10, messages, newFrom: 13, answer: [], members: [] }
  expect(firstShown(conversation)).toBe(12)
  expect(firstShown({ ...conversation, newFrom: 14 })).toBe(14)
})
