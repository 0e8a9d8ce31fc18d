import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PostgresHandshake } from './postgres-handshake.js'

const int = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
const startup = (text: string): Buffer => {
  const body = Buffer.concat([int(196608), Buffer.from(text)])
  return Buffer.concat([int(body.length + 4), body])
}
const sslRequest = Buffer.concat([int(8), int(80877103)])
const message = (type: string, text: string): Buffer =>
  Buffer.concat([Buffer.from(type), int(Buffer.byteLength(text) + 4), Buffer.from(text)])

function written(bytes: Buffer, cuts: readonly number[]): Buffer {
  const handshake = new PostgresHandshake(() => [])
  const pieces: Uint8Array[] = []
  let from = 0
  for (const cut of [...cuts.map((each) => each % bytes.length), bytes.length].toSorted(
    (a, b) => a - b,
  )) {
    const piece = handshake.written(bytes.subarray(from, cut))
    expect(piece.length).toBe(cut - from)
    pieces.push(piece)
    from = cut
  }
  return Buffer.concat(pieces)
}

test('only password data is excluded from the comparison, however it is split', () => {
  const cuts = fc.array(fc.nat(200), { maxLength: 6 })
  fc.assert(
    fc.property(fc.boolean(), fc.string({ maxLength: 40 }), cuts, (asksForTls, secret, at) => {
      const before = Buffer.concat([...(asksForTls ? [sslRequest] : []), startup('user\0me\0\0')])
      const answer = message('p', secret)
      const after = Buffer.concat([message('Q', 'select 1\0'), message('p', 'not a password here')])
      const bytes = Buffer.concat([before, answer, after])
      const hidden = Buffer.from(answer).fill(0, 5)
      expect(written(bytes, at)).toEqual(Buffer.concat([before, hidden, after]))
    }),
  )
})

test('bytes that are not PostgreSQL are unchanged', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1 }), fc.array(fc.nat(50)), (bytes, cuts) => {
      const buffer = Buffer.from(bytes)
      fc.pre(buffer.length < 8 || ![3, 1234].includes(buffer.readUInt16BE(4)))
      expect(written(buffer, cuts)).toEqual(buffer)
    }),
  )
})
