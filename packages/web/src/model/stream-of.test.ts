import { messageText } from '@retake/tape'
import { expect, test } from 'vitest'
import { CHAT, delta, RunScript } from '../../test-support/run-script.js'

test('a stream is played back at the times of its pieces', () => {
  const run = new RunScript()
  const op = run.request(CHAT, { messages: [] })
  run.add({
    type: 'response',
    op,
    status: 200,
    statusText: 'OK',
    headers: [['content-type', 'text/event-stream']],
  })
  for (const word of ['Your ', 'order ', 'is late.'])
    run.wait(99).add({ type: 'deliver', op, part: 'chunk' }, delta(word))
  run.add({ type: 'deliver', op, part: 'end' })
  const model = run.model()
  const stream = model.stream('1')
  expect(stream?.chunks).toBe(3)
  expect(stream?.frames.map(({ at, answer }) => [at, answer.map(messageText).join('')])).toEqual([
    [101, 'Your '],
    [201, 'Your order '],
    [301, 'Your order is late.'],
  ])
  expect(stream?.frames.at(-1)?.answer).toEqual(model.step('1')?.conversation?.answer)
})

test('an answer in one piece is no stream, nor is a tool', () => {
  const run = new RunScript()
  run.chat([{ role: 'user', content: 'a' }], 'b')
  run.tool('look', {}, 1)
  const model = run.model()
  expect(model.stream('1')).toBeUndefined()
  expect(model.stream('2')).toBeUndefined()
  expect(model.stream('9')).toBeUndefined()
})

test('a very long stream stays small enough to be sent', () => {
  const run = new RunScript()
  const op = run.request(CHAT, { messages: [] })
  const pieces = Array.from({ length: 2000 }, () => delta('word '.repeat(200)))
  run.answer(op, pieces, { type: 'text/event-stream' })
  const model = run.model()
  const stream = model.stream('1')
  expect(stream?.chunks).toBe(2000)
  expect(JSON.stringify(stream).length).toBeLessThan(8_000_000)
  expect(stream?.frames.at(-1)?.answer).toEqual(model.step('1')?.conversation?.answer)
})
