import fc from 'fast-check'
import { expect, test } from 'vitest'
import { encodeRecord, eventText, parseEnvelope, parseEvent, readLine } from './codec.js'
import type { NewEvent } from './events.js'
import { nodePlatform } from '../node/node-platform.js'

const anyEvent = fc
  .record({ kind: fc.string({ unit: 'binary' }), value: fc.jsonValue() })
  .map((fields): NewEvent => ({ type: 'draw', ...fields }))
const anyBody = fc.uint8Array({ maxLength: 300 })

test('an event reads back as it was written, whatever text it contains', () => {
  fc.assert(
    fc.property(
      anyEvent,
      fc.integer({ min: 1, max: 1e9 }),
      fc.double({ min: 0, max: 1e9, noNaN: true }),
      (event, seq, at) => {
        const text = eventText(event, seq, at)
        expect(parseEvent(text, seq)).toEqual(JSON.parse(JSON.stringify({ seq, at, ...event })))
        expect(text).not.toMatch(/[\t\n]/)
      },
    ),
  )
})

test('a time is written as JavaScript writes it', () => {
  const anyTime = fc.oneof(
    fc.nat().map((microseconds) => microseconds / 1000),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
  )
  fc.assert(
    fc.property(anyTime, (at) => {
      expect(eventText({ type: 'work', name: 'x' }, 1, at)).toContain(`"at":${at},`)
    }),
    { numRuns: 2000, examples: [[0], [-0], [1.5], [0.05], [0.005], [12.34], [1e21], [2 ** 53]] },
  )
})

test('number, time and type come first, whatever order the caller used', () => {
  const event = { kind: 'x', value: 1, type: 'draw' } as const
  expect(eventText(event, 3, 0.5)).toBe('{"seq":3,"at":0.5,"type":"draw","kind":"x","value":1}')
})

test('a record reads back with its lengths and stored bytes', () => {
  fc.assert(
    fc.property(anyEvent, fc.nat(), anyBody, fc.nat(0xffffffff), (event, seq, stored, seed) => {
      const text = eventText(event, seq, 1)
      const envelope = stored.length > 0 ? { stored: stored.length } : {}
      const bytes = encodeRecord(nodePlatform, seed, { text, envelope, stored })
      const newline = bytes.indexOf(10)
      const line = readLine(nodePlatform, seed, bytes, 0, newline)
      expect(line).toMatchObject({ seq, stored: stored.length })
      const eventBytes = line?.eventBytes ?? 0
      expect(nodePlatform.text(bytes, 0, eventBytes)).toBe(text)
      expect(parseEnvelope(nodePlatform.text(bytes, eventBytes + 1, newline), 1000)).toMatchObject(
        envelope,
      )
      expect(bytes).toHaveLength(newline + 1 + (stored.length > 0 ? stored.length + 1 : 0))
      expect(bytes.subarray(newline + 1, newline + 1 + stored.length)).toEqual(stored)
    }),
  )
})

test('a line is only accepted with the seed it was written with', () => {
  const bytes = encodeRecord(nodePlatform, 7, {
    text: eventText({ type: 'work', name: 'x' }, 1, 2),
    envelope: {},
  })
  expect(readLine(nodePlatform, 7, bytes, 0, bytes.length - 1)).toBeDefined()
  expect(readLine(nodePlatform, 8, bytes, 0, bytes.length - 1)).toBeUndefined()
})
