import { Buffer } from 'node:buffer'
import { crc32Of } from '../format/values/bytes.js'
import type { WriterPlatform } from '../format/platform.js'
import {
  crc32,
  createHash,
  createPublicKey,
  deflateRawSync,
  gunzipSync,
  hash,
  inflateRawSync,
  verify,
} from './native.js'

/** A Buffer over the same memory: its decoders are several times faster than TextDecoder on short lines. */
const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

type Compare = (
  this: Uint8Array,
  target: Uint8Array,
  targetStart: number,
  targetEnd: number,
  start: number,
  end: number,
) => number

/** Works on any Uint8Array; creating a Buffer for each call would cost more than the comparison. */
const { compare } = Buffer.prototype as { readonly compare: Compare }

type WriteText = (this: Uint8Array, text: string, at: number) => number

/** Like `compare`: faster than an encoder, which needs a view of the target. */
const { utf8Write } = Buffer.prototype as unknown as { readonly utf8Write: WriteText }

/** Up to this length, computing is faster than calling zlib, whose result for no bytes also differs. */
const SHORT_BYTES = 32

export const nodePlatform: WriterPlatform = {
  sha256: (data) => hash('sha256', data),
  createSha256: () => {
    const sha = createHash('sha256')
    return {
      update: (data) => void sha.update(data),
      hex: () => sha.digest('hex'),
    }
  },
  crc32: (bytes, seed = 0) =>
    bytes.length <= SHORT_BYTES ? crc32Of(bytes, seed) : crc32(bytes, seed),
  text: (bytes, from, to) => asBuffer(bytes).toString('utf8', from, to),
  // Node accepts no limit of 0.
  inflateRaw: (bytes, maxBytes) =>
    inflateRawSync(bytes, { maxOutputLength: Math.max(1, maxBytes) }),
  gunzip: (bytes, maxBytes) => gunzipSync(bytes, { maxOutputLength: Math.max(1, maxBytes) }),
  writeText: (text, bytes, at) => utf8Write.call(bytes, text, at),
  deflateRaw: (bytes, level) => {
    // The smallest zlib window and output that cover a short text. The defaults have 272 KB, and
    // allocating them takes longer than compressing a few kilobytes.
    const windowBits = Math.min(15, Math.max(9, 32 - Math.clz32(bytes.length)))
    const chunkSize = Math.min(1 << 14, Math.max(1 << 8, bytes.length))
    const memLevel = Math.min(8, windowBits - 6)
    return deflateRawSync(bytes, { level, windowBits, memLevel, chunkSize })
  },
  equal: (a, aFrom, b, bFrom, length) =>
    compare.call(a, b, bFrom, bFrom + length, aFrom, aFrom + length) === 0,
  verifyEd25519: (message, signature, publicKey) => {
    const x = asBuffer(publicKey).toString('base64url')
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
    return verify(null, message, key, signature)
  },
}
