import type net from 'node:net'
import { PassThrough } from 'node:stream'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { receiveFrames, sendFrame } from './frames.js'

/** Sends values through a pipe that cuts them anywhere. */
async function sendThrough(values: readonly unknown[], cut: number): Promise<unknown[]> {
  const sent = new PassThrough()
  const pipe = new PassThrough()
  const received: unknown[] = []
  receiveFrames(
    pipe as unknown as net.Socket,
    (value) => received.push(value),
    () => {},
  )
  for (const value of values) sendFrame(sent as unknown as net.Socket, value)
  const bytes = (sent.read() as Buffer | null) ?? Buffer.alloc(0)
  for (let at = 0; at < bytes.length; at += cut) pipe.write(bytes.subarray(at, at + cut))
  await new Promise((resolve) => pipe.end(resolve))
  await new Promise(setImmediate)
  return received
}

test('values arrive as a structured clone would copy them', async () => {
  const values = fc.array(
    fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true }),
    { maxLength: 4 },
  )
  await fc.assert(
    fc.asyncProperty(values, fc.integer({ min: 1, max: 50 }), async (given, cut) => {
      expect(await sendThrough(given, cut)).toStrictEqual(
        given.map((each) => structuredClone(each)),
      )
    }),
  )
})

test.each([
  ['a negative zero', [-0, { a: -0 }]],
  ['members that JSON drops or changes', [{ a: undefined }, [undefined], [Number.NaN], [Infinity]]],
  [
    'lists with holes or properties',
    [Object.assign([], { 0: 1, 2: 3, length: 3 }), Object.assign([1], { index: 4 })],
  ],
  ['half of a surrogate pair', ['\ud800', { '\udc00': 'x' }]],
  ['a key that sets the prototype', [JSON.parse('{"__proto__":{"a":1}}')]],
  ['many members', [Array.from({ length: 1000 }, (_, a) => ({ a }))]],
])('%s arrives unchanged', async (_, values) => {
  const copies = await sendThrough(values, 7)
  expect(copies).toStrictEqual(values)
  expect(copies.map((each) => Object.keys(Object(each)))).toEqual(
    values.map((each) => Object.keys(Object(each))),
  )
})

test.each([0xff_ff_ff_ff, 0x80_00_00_10, 0x7f_ff_ff_ff, 0x20_00_00_00])(
  'a frame of length %i ends the connection',
  async (length) => {
    const pipe = new PassThrough()
    const head = Buffer.alloc(8)
    head.writeUInt32BE(length)
    const ended = new Promise<void>((resolve) =>
      receiveFrames(pipe as unknown as net.Socket, () => expect.unreachable(), resolve),
    )
    pipe.write(head)
    await ended
    expect(pipe.destroyed).toBe(true)
  },
)
