import { generateKeyPairSync, sign as signBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { type Draft, sampleDrafts, tapeBytes } from '../../../../test/support/tape-bytes.js'
import { encodeRecord, type Envelope, parseEnvelope } from './codec.js'
import type { SealEvent, TapeEvent } from './events.js'
import { nodePlatform } from '../node/node-platform.js'
import type { SealSigner } from './record-encoder.js'
import { Tape } from './tape.js'
import type { VerifyResult } from './verify.js'

/** A record taken apart by someone who wants to change the tape and knows the format. */
interface Parts {
  readonly event: TapeEvent
  readonly envelope: Envelope
  readonly stored: Uint8Array
}

function takeApart(bytes: Uint8Array, ends: readonly number[]): Parts[] {
  return ends.map((end, seq) => {
    const record = Buffer.from(bytes.subarray(ends[seq - 1] ?? 0, end))
    const newline = record.indexOf(10)
    const [event = '', envelope = ''] = record.toString('utf8', 0, newline).split('\t')
    const { crc: _, ...fields } = parseEnvelope(envelope, 99) as Envelope & { crc: string }
    const stored = record.subarray(newline + 1, newline + 1 + (fields.stored ?? 0))
    return { event: JSON.parse(event) as TapeEvent, envelope: fields, stored }
  })
}

/** Puts the records together with fresh numbers and CRCs, but without computing the chain again. */
function putTogether(records: readonly Parts[]): Uint8Array {
  let seed = 0
  return Buffer.concat(
    records.map((parts, seq) => {
      const text = JSON.stringify({ ...parts.event, seq })
      const record = encodeRecord(nodePlatform, seed, { ...parts, text })
      if (seq === 0) {
        const line = Buffer.from(record).subarray(0, record.indexOf(10))
        seed = parseInt(line.subarray(-10, -2).toString(), 16)
      }
      return record
    }),
  )
}

const verify = (bytes: Uint8Array): VerifyResult =>
  Tape.open(
    nodePlatform,
    { size: bytes.length, read: (at, n) => bytes.subarray(at, at + n) },
    'x',
  ).verify()

const { bytes, ends } = tapeBytes(sampleDrafts())
const records = takeApart(bytes, ends)

test('putting a tape together again changes nothing', () => {
  expect(putTogether(records)).toEqual(Buffer.from(bytes))
  expect(verify(putTogether(records))).toMatchObject({ ok: true, count: ends.length })
})

describe('verification fails despite repaired numbers and CRCs if', () => {
  const places = records.slice(1, -1).map(({ event }) => [event.seq, event.type] as const)

  test.each(places)('event %i (%s) is removed', (seq) => {
    expect(verify(putTogether(records.toSpliced(seq, 1))).ok).toBe(false)
  })

  test.each(places)('event %i (%s) is doubled', (seq) => {
    expect(verify(putTogether(records.toSpliced(seq, 0, records[seq] as Parts))).ok).toBe(false)
  })

  test.each(places)('event %i (%s) is swapped with the next', (seq) => {
    const [a, b] = records.slice(seq, seq + 2) as [Parts, Parts]
    expect(verify(putTogether(records.toSpliced(seq, 2, b, a))).ok).toBe(false)
  })

  test.each(places)('a field of event %i (%s) is changed', (seq) => {
    const parts = records[seq] as Parts
    const changed = { ...parts, event: { ...parts.event, at: 77 } }
    expect(verify(putTogether(records.with(seq, changed))).ok).toBe(false)
  })

  test.each(records.filter((r) => r.event.seq > 0 && r.stored.length > 0).map((r) => r.event.seq))(
    'the body of event %i is changed',
    (seq) => {
      const parts = records[seq] as Parts
      const stored = Uint8Array.from(parts.stored, (byte) => byte ^ 1)
      expect(verify(putTogether(records.with(seq, { ...parts, stored }))).ok).toBe(false)
    },
  )
})

test('the first event that is wrong is named', () => {
  const parts = records[4] as Parts
  const changed = putTogether(records.with(4, { ...parts, event: { ...parts.event, at: 77 } }))
  const { problem } = verify(changed)
  expect(problem?.seq).toBe(6)
  expect(problem?.message).toContain('changed, added, moved or removed')
})

describe('a seal', () => {
  const rest = sampleDrafts().slice(0, -1)
  const light: Draft = { event: { type: 'draw', kind: 'Date.now', value: 5 } }

  test.each([
    ['another count', { count: 3 }, 'counts 3 events'],
    ['another root', { root: 'ab'.repeat(32) }, 'Merkle root of the seal does not match'],
  ])('that links to the chain but has %s is refused', (_, change, message) => {
    const sealed = tapeBytes([...rest, light], { sealed: true })
    const last = takeApart(sealed.bytes, sealed.ends).at(-1) as Parts
    const { count, root } = last.event as SealEvent
    const forged: Draft = { event: { type: 'seal', count, root, ...change } }
    const result = verify(tapeBytes([...rest, light, forged]).bytes)
    expect(result).toMatchObject({ ok: false, problem: { seq: rest.length + 2 } })
    expect(result.problem?.message).toContain(message)
  })

  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const key = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url').toString(
    'base64',
  )
  const sign: SealSigner = (message) => ({
    key,
    signature: signBytes(null, message, privateKey).toString('base64'),
  })

  test('that is signed says so, and by which key', () => {
    const { bytes } = tapeBytes([...rest, light], { sealed: true, sign })
    expect(verify(bytes)).toMatchObject({ ok: true, signature: 'valid', key })
  })

  test('with the signature of another run is refused', () => {
    const other = tapeBytes(rest, { sealed: true, sign })
    const { event } = takeApart(other.bytes, other.ends).at(-1) as Parts
    const { signature } = event as SealEvent
    const { bytes } = tapeBytes([...rest, light], {
      sealed: true,
      sign: () => ({ key, signature: signature ?? '' }),
    })
    expect(verify(bytes)).toMatchObject({ ok: false, signature: 'invalid', key })
  })

  test('with an invalid signature is refused', () => {
    const sealed = tapeBytes(rest, { sealed: true, sign: () => ({ key: '?', signature: 'x' }) })
    expect(verify(sealed.bytes)).toMatchObject({ ok: false, signature: 'invalid' })
  })
})
