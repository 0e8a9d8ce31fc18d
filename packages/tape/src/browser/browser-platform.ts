import type { TapePlatform } from '../format/platform.js'
import { crc32 } from '../format/crc32.js'
import { gunzip } from './gunzip.js'
import { inflateRaw } from './inflate.js'
import { createSha256, sha256 } from './sha256.js'

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/**
 * What any JavaScript hands to the tape without help of its host, so that a
 * tape can be read at once. Signatures stay unchecked: browsers only check
 * them asynchronously.
 */
export const browserPlatform: TapePlatform = {
  sha256,
  createSha256,
  crc32,
  text: (bytes, from, to) => decoder.decode(bytes.subarray(from, to)),
  inflateRaw,
  gunzip,
  // The tape is in memory already, and unpacking is slow here.
  openBlocksMax: 1024,
}
