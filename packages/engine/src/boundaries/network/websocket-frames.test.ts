import fc from 'fast-check'
import { expect, test } from 'vitest'
import { WebSocketFrames } from './websocket-frames.js'

const MASKED = 0x80

function lengthBytes(length: number): number[] {
  if (length < 126) return [MASKED | length]
  const bytes = Buffer.alloc(length < 65_536 ? 2 : 8)
  bytes.writeUIntBE(length, Math.max(0, bytes.length - 6), Math.min(6, bytes.length))
  return [MASKED | (length < 65_536 ? 126 : 127), ...bytes]
}

/** A frame as a client sends it. */
const frame = (content: Uint8Array, mask: readonly number[]): Buffer =>
  Buffer.concat([
    Buffer.from([0x82, ...lengthBytes(content.length), ...mask]),
    content.map((byte, index) => byte ^ (mask[index % 4] ?? 0)),
  ])

function written(bytes: Buffer, cuts: readonly number[]): Buffer {
  const frames = new WebSocketFrames()
  const ends = [...cuts.map((cut) => cut % bytes.length), bytes.length].toSorted((a, b) => a - b)
  return Buffer.concat(
    ends.map((end, index) => frames.written(bytes.subarray(ends[index - 1] ?? 0, end))),
  )
}

test('frames are the same with every mask, however they are cut into pieces', () => {
  const sizes = fc.oneof(fc.nat(130), fc.constantFrom(125, 126, 65_535, 65_536))
  const mask = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255))
  const cuts = fc.array(fc.nat(200_000), { maxLength: 6 })
  fc.assert(
    fc.property(
      fc.array(fc.tuple(sizes, mask), { minLength: 1, maxLength: 3 }),
      cuts,
      (all, at) => {
        const contents = all.map(([size]) => Uint8Array.from({ length: size }, (_, i) => i * 7))
        const masked = contents.map((content, index) => frame(content, all[index]?.[1] ?? []))
        const plain = contents.map((content) => frame(content, [0, 0, 0, 0]))
        // toEqual is slow for large buffers.
        expect(written(Buffer.concat(masked), at).equals(Buffer.concat(plain))).toBe(true)
      },
    ),
  )
})
