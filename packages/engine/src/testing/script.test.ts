import { expect, test } from 'vitest'
import type { ModelRequest, PlainMessage } from './model-request.js'
import { Script } from './script.js'

const asking = (messages: readonly PlainMessage[], model = 'm'): ModelRequest => ({
  number: 1,
  format: 'openai-chat',
  provider: 'openai',
  method: 'POST',
  path: '/v1/chat/completions',
  headers: {},
  body: {},
  model,
  messages,
  stream: false,
})
const saying = (text: string): ModelRequest => asking([{ role: 'user', text }])

test('answers come in order, each once', () => {
  const script = new Script([{ text: 'one' }, { text: 'two' }])
  expect(script.next(saying('a')).text).toBe('one')
  expect(script.unused).toEqual([{ text: 'two' }])
  expect(script.next(saying('b')).text).toBe('two')
  expect(script.unused).toEqual([])
})

test('after the last answer, the error says how many there were', () => {
  const script = new Script([{ text: 'one' }, { text: 'two' }])
  script.next(saying('a'))
  script.next(saying('b'))
  expect(() => script.next(saying('c'))).toThrow(/ended\. All its 2 answers have been given\./)
  expect(() => new Script([]).next(saying('c'))).toThrow('It has no answers.')
})

test('a request gets the first unused answer that fits it', () => {
  const script = new Script([
    { text: 'for planner', when: { system: 'planner' } },
    { text: 'for Oslo', when: { contains: 'Oslo' } },
    { text: 'for the large one', when: { model: 'large' } },
    { text: 'for anybody' },
  ])
  expect(script.next(saying('Rain in Oslo?')).text).toBe('for Oslo')
  expect(script.next(saying('Rain in Oslo?')).text).toBe('for anybody')
  expect(script.next(asking([{ role: 'user', text: 'x' }], 'large')).text).toBe('for the large one')
  const planner: PlainMessage[] = [
    { role: 'system', text: 'You are the planner.' },
    { role: 'user', text: 'Go.' },
  ]
  expect(script.next(asking(planner)).text).toBe('for planner')
})

test('only the last message counts for `contains`, and all conditions must hold', () => {
  const script = new Script([{ text: 'no', when: { contains: 'Oslo', model: 'large' } }])
  const earlier: PlainMessage[] = [
    { role: 'user', text: 'Oslo?' },
    { role: 'tool', text: 'rain' },
  ]
  expect(() => script.next(asking(earlier, 'large'))).toThrow('"rain"')
  expect(() => script.next(saying('Oslo'))).toThrow('One answer is left')
})
