import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { readArrayItems } from '../providers/google/gemini.js'
import { readJsonLines, readStream } from './event-frames.js'

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

test('the framing of a stream follows from its content type', () => {
  const one = [{ at: 1, bytes: encode('data: {"a":1}\n\n') }]
  expect(readStream('text/event-stream; charset=utf-8', one)?.events).toHaveLength(1)
  expect(readStream('application/x-ndjson', one)?.events[0]?.data).toBe('data: {"a":1}')
  expect(readStream('application/vnd.amazon.eventstream', one)?.problem).toMatch(/^message 1 /)
  expect(readStream('application/json', one)).toBeUndefined()
  expect(readStream('', one)).toBeUndefined()
})

test('lines of JSON are the same however the bytes are cut, and carry the time of their end', () => {
  const bytes = encode('{"a":"☃"}\r\n\n{"b":2}\n{"c":')
  fc.assert(
    fc.property(fc.array(fc.nat({ max: bytes.length })), (cuts) => {
      const edges = [0, ...cuts, bytes.length].toSorted((a, b) => a - b)
      const chunks = edges.slice(1).map((end, at) => ({ at, bytes: bytes.slice(edges[at], end) }))
      expect(readJsonLines(chunks).map(({ data }) => data)).toEqual([
        '{"a":"☃"}',
        '{"b":2}',
        '{"c":',
      ])
    }),
  )
  const timed = readJsonLines([
    { at: 1, bytes: encode('{"a":1') },
    { at: 2, bytes: encode('}\n{"b":2}') },
  ])
  expect(timed.map(({ data, at }) => `${data} ${at}`)).toEqual(['{"a":1} 2', '{"b":2} 2'])
})

test('a truncated array gives its complete items', () => {
  const items = [{ a: 'x]},{"\\"' }, { b: [1, { c: '[' }] }, { d: {} }]
  const text = JSON.stringify(items, null, 1)
  const ends = items.map(
    (_, index) => JSON.stringify(items.slice(0, index + 1), null, 1).length - 2,
  )
  for (let end = 0; end <= text.length; end++) {
    const whole = ends.filter((needed) => needed <= end).length
    expect(readArrayItems(text.slice(0, end))).toEqual(items.slice(0, whole))
  }
  fc.assert(
    fc.property(fc.string(), (any) => {
      expect(() => readArrayItems(`[${any}`)).not.toThrow()
    }),
  )
})
