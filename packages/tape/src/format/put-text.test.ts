import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ascii, digitCount, putAscii, putCrc, putMilliseconds, putNumber } from './put-text.js'

/** The bytes written at offset 3; nothing else may change. */
function written(put: (bytes: Uint8Array, at: number) => number): string {
  const bytes = new Uint8Array(60).fill(1)
  const end = put(bytes, 3)
  expect([...bytes.subarray(0, 3), ...bytes.subarray(end)].every((byte) => byte === 1)).toBe(true)
  return Buffer.from(bytes.subarray(3, end)).toString('latin1')
}

test('numbers are written as String writes them', () => {
  const anyNumber = fc.oneof(fc.nat(2000), fc.maxSafeNat())
  fc.assert(
    fc.property(anyNumber, (value) => {
      expect(written((bytes, at) => putNumber(value, bytes, at))).toBe(String(value))
      expect(digitCount(value)).toBe(String(value).length)
    }),
  )
})

test('times are written as String writes them, to the microsecond and beyond', () => {
  const anyTime = fc.oneof(
    fc.nat(3_000_000).map((microseconds) => microseconds / 1000),
    fc.maxSafeNat().map((microseconds) => microseconds / 1000),
    fc.double({ min: 0, noNaN: true }),
  )
  fc.assert(
    fc.property(anyTime, (ms) => {
      expect(written((bytes, at) => putMilliseconds(ms, bytes, at))).toBe(String(ms))
    }),
    { numRuns: 2000 },
  )
})

test('a CRC has eight digits', () => {
  fc.assert(
    fc.property(fc.nat(0xffffffff), (crc) => {
      const hex = crc.toString(16).padStart(8, '0')
      expect(written((bytes, at) => putCrc(crc, bytes, at))).toBe(hex)
    }),
  )
})

test('text is written unchanged', () => {
  expect(written((bytes, at) => putAscii('{"a":1}', bytes, at))).toBe('{"a":1}')
  expect(ascii('\t{')).toEqual(Uint8Array.of(9, 123))
})
