import type { Sha256 } from '../format/platform.js'

const encoder = new TextEncoder()

/** First 32 bits of the fractional part of a number. */
const fraction = (value: number): number => ((value - Math.floor(value)) * 2 ** 32) | 0

const PRIMES: number[] = []
for (let n = 2; PRIMES.length < 64; n++) {
  if (PRIMES.every((prime) => n % prime !== 0)) PRIMES.push(n)
}
/** FIPS 180-4: constants from the cube roots, start values from the square roots of the first primes. */
const ROUND = Int32Array.from(PRIMES, (prime) => fraction(Math.cbrt(prime)))
const START = Int32Array.from(PRIMES.slice(0, 8), (prime) => fraction(Math.sqrt(prime)))

/** Synchronous sha256, which browsers do not offer. For integrity checks, not for secrets. */
export function createSha256(): Sha256 {
  const state = new Int32Array(START)
  const block = new Uint8Array(64)
  const words = new Int32Array(64)
  let used = 0
  let length = 0

  const compress = (bytes: Uint8Array, from: number): void => {
    for (let i = 0; i < 16; i++) {
      const at = from + 4 * i
      words[i] =
        ((bytes[at] ?? 0) << 24) |
        ((bytes[at + 1] ?? 0) << 16) |
        ((bytes[at + 2] ?? 0) << 8) |
        (bytes[at + 3] ?? 0)
    }
    for (let i = 16; i < 64; i++) {
      const w2 = words[i - 2] ?? 0
      const w15 = words[i - 15] ?? 0
      const s1 = rotate(w2, 17) ^ rotate(w2, 19) ^ (w2 >>> 10)
      const s0 = rotate(w15, 7) ^ rotate(w15, 18) ^ (w15 >>> 3)
      words[i] = (s1 + (words[i - 7] ?? 0) + s0 + (words[i - 16] ?? 0)) | 0
    }
    let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state
    for (let i = 0; i < 64; i++) {
      const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
      const choice = (e & f) ^ (~e & g)
      const t1 = (h + s1 + choice + (ROUND[i] ?? 0) + (words[i] ?? 0)) | 0
      const s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)
      const majority = (a & b) ^ (a & c) ^ (b & c)
      h = g
      g = f
      f = e
      e = (d + t1) | 0
      d = c
      c = b
      b = a
      a = (t1 + s0 + majority) | 0
    }
    const add = [a, b, c, d, e, f, g, h]
    for (let i = 0; i < 8; i++) state[i] = (state[i] ?? 0) + (add[i] ?? 0)
  }

  const take = (bytes: Uint8Array): void => {
    length += bytes.length
    let at = 0
    if (used > 0) {
      at = Math.min(64 - used, bytes.length)
      block.set(bytes.subarray(0, at), used)
      used += at
      if (used < 64) return
      compress(block, 0)
      used = 0
    }
    for (; at + 64 <= bytes.length; at += 64) compress(bytes, at)
    block.set(bytes.subarray(at))
    used = bytes.length - at
  }

  return {
    update: (data) => take(typeof data === 'string' ? encoder.encode(data) : data),
    hex: () => {
      const bits = new DataView(new ArrayBuffer(8))
      bits.setBigUint64(0, BigInt(length) * 8n)
      take(Uint8Array.of(0x80))
      take(new Uint8Array((120 - used) % 64))
      take(new Uint8Array(bits.buffer))
      return Array.from(state, (word) => (word >>> 0).toString(16).padStart(8, '0')).join('')
    },
  }
}

export function sha256(data: Uint8Array | string): string {
  const sha = createSha256()
  sha.update(data)
  return sha.hex()
}

const rotate = (word: number, by: number): number => (word >>> by) | (word << (32 - by))
