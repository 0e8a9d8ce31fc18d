import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseSse } from './sse.js'

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
const STREAM =
  ': hello\r\n\r\nevent: message_start\ndata: {"a":"☃"}\n\ndata: one\r\ndata:two\r\nid: 7\r\n\r\n' +
  'event: ping\n\ndata\n\rdata: [DONE]\r\r'

test('events are read with every kind of line end', () => {
  const events = parseSse([{ at: 5, bytes: encode(STREAM) }])
  expect(events).toEqual([
    { event: 'message_start', data: '{"a":"☃"}', at: 5 },
    { event: 'message', data: 'one\ntwo', id: '7', at: 5 },
    { event: 'message', data: '', at: 5 },
    { event: 'message', data: '[DONE]', at: 5 },
  ])
})

test('events are the same however the bytes are cut, and carry the time of their last piece', () => {
  const bytes = encode(STREAM)
  const whole = parseSse([{ at: 0, bytes }]).map(({ event, data, id }) => [event, data, id])
  fc.assert(
    fc.property(fc.array(fc.nat({ max: bytes.length })), (cuts) => {
      const edges = [0, ...cuts, bytes.length].toSorted((a, b) => a - b)
      const chunks = edges.slice(1).map((end, at) => ({ at, bytes: bytes.slice(edges[at], end) }))
      const events = parseSse(chunks)
      expect(events.map(({ event, data, id }) => [event, data, id])).toEqual(whole)
      expect(events.map(({ at }) => at)).toEqual(
        events.map(({ at }) => at).toSorted((a, b) => a - b),
      )
    }),
  )
  const timed = parseSse([
    { at: 1, bytes: encode('data: a\n') },
    { at: 2, bytes: encode('\ndata: b\n\n') },
  ])
  expect(timed.map(({ data, at }) => `${data}${at}`)).toEqual(['a2', 'b2'])
})

test('an event that breaks off is returned as far as it arrived', () => {
  const events = parseSse([{ at: 1, bytes: encode('data: {"a":1}\n\ndata: {"b') }])
  expect(events.map(({ data }) => data)).toEqual(['{"a":1}', '{"b'])
})
