import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bedrockEvent, eventFrame, rawFrame } from '../../test-support/event-frame.js'
import { readEventFrames, readFrameEvents } from './event-frames.js'
import type { TimedChunk } from './sse.js'

const hex = (text: string): Uint8Array =>
  Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
const once = (...pieces: readonly Uint8Array[]): TimedChunk[] =>
  pieces.map((bytes, at) => ({ at, bytes }))
const joined = (pieces: readonly Uint8Array[]): Uint8Array =>
  Uint8Array.from(pieces.flatMap((piece) => [...piece]))

const anyFrame = fc.record({
  headers: fc.dictionary(fc.string({ minLength: 1, maxLength: 8 }), fc.string({ maxLength: 20 }), {
    maxKeys: 4,
  }),
  payload: fc.uint8Array({ maxLength: 60 }),
})

describe('an AWS event stream', () => {
  test("is read as AWS's own examples say", () => {
    const empty = hex('000000100000000005c248eb7d98c8ff')
    expect(readEventFrames(once(empty))).toEqual({
      frames: [{ headers: new Map(), payload: new Uint8Array(0), at: 0 }],
      unfinishedBytes: 0,
    })
    const payload = hex('0000001d00000000fd528c5a7b27666f6f273a27626172277dc3653936')
    const [frame] = readEventFrames(once(payload)).frames
    expect(new TextDecoder().decode(frame?.payload)).toBe("{'foo':'bar'}")
  })

  test('returns what was written, however the bytes are cut', () => {
    fc.assert(
      fc.property(fc.array(anyFrame, { maxLength: 5 }), fc.array(fc.nat(400)), (written, cuts) => {
        const frames = written.map(({ headers, payload }) => eventFrame(headers, payload))
        const bytes = joined(frames)
        const edges = [0, ...cuts.filter((cut) => cut <= bytes.length), bytes.length].toSorted(
          (left, right) => left - right,
        )
        const chunks = edges.slice(1).map((end, at) => ({ at, bytes: bytes.slice(edges[at], end) }))
        const read = readEventFrames(chunks)
        expect(read.problem).toBeUndefined()
        expect(read.unfinishedBytes).toBe(0)
        expect(read.frames.map(({ headers, payload }) => ({ headers, payload }))).toEqual(
          written.map(({ headers, payload }) => ({
            headers: new Map(Object.entries(headers)),
            payload,
          })),
        )
        // A message has the arrival time of the piece with its last byte.
        let end = 0
        const expectedTimes = frames.map((frame) => {
          end += frame.length
          return edges.slice(1).findIndex((edge) => edge >= end)
        })
        expect(read.frames.map(({ at }) => at)).toEqual(expectedTimes)
      }),
    )
  })

  test('with any wrong bit is a problem or ends early, and earlier messages stay', () => {
    fc.assert(
      fc.property(
        fc.array(anyFrame, { minLength: 1, maxLength: 4 }),
        fc.nat(),
        fc.nat(7),
        (written, place, bit) => {
          const frames = written.map(({ headers, payload }) => eventFrame(headers, payload))
          const bytes = joined(frames)
          const at = place % bytes.length
          bytes[at] = (bytes[at] ?? 0) ^ (1 << bit)
          let end = 0
          const hit = frames.findIndex((frame) => (end += frame.length) > at)
          const read = readEventFrames(once(bytes))
          expect(read.frames).toHaveLength(hit)
          expect(read.problem).toMatch(new RegExp(`^message ${hit + 1} of the event stream: `))
        },
      ),
    )
  })

  test('that ends early gives its complete messages and no problem', () => {
    const first = eventFrame({ a: 'b' }, 'one')
    const second = eventFrame({ a: 'b' }, 'two')
    for (let cut = 0; cut < second.length; cut++) {
      const read = readEventFrames(once(first, second.subarray(0, cut)))
      expect(read).toMatchObject({ unfinishedBytes: cut })
      expect(read.frames).toHaveLength(1)
      expect(read.problem).toBeUndefined()
    }
  })

  test('of any bytes at all never throws', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(() => readFrameEvents(once(bytes))).not.toThrow()
        expect(() => readEventFrames(once(rawFrame(bytes, new Uint8Array(0))))).not.toThrow()
      }),
    )
  })

  test('may have headers of every type, and reports a message with invalid headers', () => {
    const all = hex(
      '0161' +
        '00' +
        '0162' +
        '01' +
        '0163' +
        '0205' +
        '0164' +
        '030001' +
        '0165' +
        '0400000001' +
        '0166' +
        '050000000000000001' +
        '0167' +
        '060002ffff' +
        '0168' +
        '0700026869' +
        '0169' +
        '080000000000000001' +
        '016a' +
        '09000102030405060708090a0b0c0d0e0f',
    )
    const [frame] = readEventFrames(once(rawFrame(all, new Uint8Array(0)))).frames
    expect(frame?.headers).toEqual(new Map([['h', 'hi']]))
    for (const lie of ['0161', '01610a', '0161070005', '01610700ff41', 'ff61']) {
      const { problem } = readEventFrames(once(rawFrame(hex(lie), new Uint8Array(0))))
      expect(problem).toBe('message 1 of the event stream: its headers cannot be read')
    }
  })
})

test('events, exceptions and errors have names, and chunks are unwrapped', () => {
  const { events } = readFrameEvents(
    once(
      bedrockEvent('messageStart', { role: 'assistant' }),
      bedrockEvent('chunk', { text: 'ü' }),
      bedrockEvent('throttlingException', { message: 'slow down' }),
      eventFrame({ ':message-type': 'error', ':error-code': '500', ':error-message': 'oh' }, ''),
      eventFrame({ ':message-type': 'event', ':event-type': 'chunk' }, '{"bytes":"%%"}'),
    ),
  )
  expect(events).toEqual([
    { event: 'messageStart', data: '{"role":"assistant"}', at: 0 },
    { event: 'chunk', data: '{"text":"ü"}', at: 1 },
    { event: 'throttlingException', data: '{"message":"slow down"}', at: 2 },
    { event: 'error', data: '{"code":"500","message":"oh"}', at: 3 },
    { event: 'chunk', data: '{"bytes":"%%"}', at: 4 },
  ])
})
