/** Finds the secrets of the corpus in texts, in whatever encoding, whole or in large part. */
import { gunzipSync, inflateRawSync } from 'node:zlib'

/** A part of this size gives a long secret away; a third, if it is sent in three parts. */
const PART = 0.6
const SPLIT_PART = 0.3
const MIN_BYTES = 6

/** @param {string} secret @param {string} encoding */
function partsOf(secret, encoding) {
  // Lines of a block, without the padding that ends it.
  const lines = secret.split('\n').filter((line) => line.length >= 8)
  return lines.flatMap((line) => {
    if (line.length < 24) return [line]
    const size = Math.ceil(line.length * (encoding === 'split' ? SPLIT_PART : PART))
    return [line.slice(0, size), line.slice(-size)]
  })
}

/** The characters of base64 that depend on nothing but `bytes`, when these begin at any offset. */
function base64Cores(bytes) {
  return [0, 1, 2].map((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .replace(/=+$/, '')
    const rest = (offset + bytes.length) % 3
    return text.slice([0, 2, 3][offset], rest === 0 ? undefined : -1)
  })
}

/** @param {string} secret @param {string} encoding */
function needlesOf(secret, encoding) {
  const needles = partsOf(secret, encoding).flatMap((part) => {
    const bytes = Buffer.from(part)
    const cores = base64Cores(bytes)
    const hex = bytes.toString('hex')
    return [
      part,
      encodeURIComponent(part),
      encodeURIComponent(encodeURIComponent(part)),
      ...cores,
      ...cores.map((core) => core.replaceAll('+', '-').replaceAll('/', '_')),
      ...cores.map((core) => encodeURIComponent(core)),
      hex,
      hex.toUpperCase(),
    ]
  })
  return [...new Set(needles)].filter((needle) => needle.length >= MIN_BYTES)
}

/** What is packed inside a text: gzip in base64, and characters written as escapes. */
function unpacked(text) {
  const packed = [...text.matchAll(/H4sI[A-Za-z0-9+/]{20,}={0,2}/g)].map(([found]) => {
    try {
      return gunzipSync(Buffer.from(found, 'base64')).toString()
    } catch {
      return ''
    }
  })
  const escaped = text.includes('\\u')
    ? [
        text.replaceAll(/\\+u([0-9a-f]{4})/gi, (_, code) =>
          String.fromCharCode(Number.parseInt(code, 16)),
        ),
      ]
    : []
  return [text, ...packed, ...escaped]
}

/** The recorded data of a report, which is deflated and written as base64. */
export function reportTexts(html) {
  const scripts = [...html.matchAll(/<script type="application\/octet-stream"[^>]*>([^<]*)</g)]
  return [
    html,
    ...scripts.map(([, body]) => {
      const bytes = Buffer.from(body, 'base64')
      try {
        return inflateRawSync(bytes).toString('latin1')
      } catch {
        return bytes.toString('latin1')
      }
    }),
  ]
}

/**
 * @template {{ id: string, secret: string, encoding: string }} Planted
 * @param {readonly Planted[]} planted
 * @returns A function that says which of them a text gives away.
 */
export function makeSearch(planted) {
  // Four bytes of each needle select the needles to compare, so that a text is read once.
  const isKey = new Uint8Array(1 << 24)
  /** @type {Map<number, { bytes: Buffer, owner: Planted }[]>} */
  const byKey = new Map()
  const hash = (bytes, at) => Math.imul(bytes.readInt32LE(at), 0x9e3779b1) >>> 8
  for (const owner of planted)
    for (const needle of needlesOf(owner.secret, owner.encoding)) {
      const bytes = Buffer.from(needle)
      const key = hash(bytes, bytes.length - 4)
      isKey[key] = 1
      byKey.set(key, [...(byKey.get(key) ?? []), { bytes, owner }])
    }
  return (text) => {
    /** @type {Set<string>} */
    const found = new Set()
    for (const part of unpacked(text)) {
      const bytes = Buffer.from(part)
      for (let at = 0; at + 4 <= bytes.length; at++) {
        const key = hash(bytes, at)
        if (isKey[key] === 0) continue
        for (const { bytes: needle, owner } of byKey.get(key) ?? []) {
          const start = at + 4 - needle.length
          if (start < 0 || found.has(owner.id)) continue
          if (bytes.compare(needle, 0, needle.length, start, at + 4) === 0) found.add(owner.id)
        }
      }
    }
    return found
  }
}
