import { Tape, type TapeOptions } from '../format/tape.js'
import type { TapePlatform } from '../format/platform.js'
import { crc32Of, joinBytes } from '../format/values/bytes.js'
import { inflateAt, inflateRaw } from './inflate.js'
import { createSha256, sha256 } from './sha256.js'

/** Unpacks all members of gzip data (RFC 1952), and checks their CRCs. */
function gunzip(bytes: Uint8Array, maxBytes: number): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const members: Uint8Array[] = []
  let left = maxBytes
  for (let at = 0; at === 0 || isMember(bytes, at);) {
    const { output, end } = inflateAt(bytes, headerEnd(bytes, at), left)
    left -= output.length
    const isWhole =
      end + 8 <= bytes.length &&
      view.getUint32(end, true) === crc32Of(output) &&
      view.getUint32(end + 4, true) === output.length >>> 0
    if (!isWhole) throw new Error('gzip data does not have its recorded CRC and length')
    members.push(output)
    at = end + 8
  }
  return joinBytes(members)
}

const isMember = (bytes: Uint8Array, at: number): boolean =>
  bytes[at] === 0x1f && bytes[at + 1] === 0x8b && bytes[at + 2] === 8

function headerEnd(bytes: Uint8Array, at: number): number {
  if (!isMember(bytes, at)) throw new Error('not gzip data')
  const flags = bytes[at + 3] ?? 0
  let end = at + 10
  if (flags & 4) end += 2 + (bytes[end] ?? 0) + 256 * (bytes[end + 1] ?? 0)
  for (const text of [8, 16]) if (flags & text) end = bytes.indexOf(0, end) + 1
  return flags & 2 ? end + 2 : end
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/**
 * A platform without dependencies on its host, so that a tape can be read synchronously. Signatures
 * are not checked: browsers can only do that asynchronously.
 */
export const browserPlatform: TapePlatform = {
  sha256,
  createSha256,
  crc32: crc32Of,
  text: (bytes, from, to) => decoder.decode(bytes.subarray(from, to)),
  inflateRaw,
  gunzip,
  // The tape is already in memory, and unpacking is slow here.
  openBlocksMax: 1024,
}

/**
 * Opens a tape in memory. The bytes must not change while it is in use. For a branch, only its own
 * events can be read unless its parent is passed in.
 */
export const readTape = (
  bytes: Uint8Array,
  name = 'tape',
  options: Pick<TapeOptions, 'parent'> = {},
): Tape =>
  Tape.open(
    browserPlatform,
    { size: bytes.length, read: (offset, length) => bytes.subarray(offset, offset + length) },
    name,
    options,
  )
