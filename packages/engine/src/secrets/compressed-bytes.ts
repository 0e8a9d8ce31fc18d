import zlib from 'node:zlib'
import { KnownValues } from '@retake/tape/secrets'
import { attempt } from '@retake/tape/format'

export interface CompressionOptions {
  /** Content encoding, if it is known; gzip and zlib are also recognised by their first bytes. */
  readonly encoding?: string | undefined
  /** True if the length of the bytes must not change, because something else has counted them. */
  readonly isSameLength: boolean
}

export const NOT_COMPRESSED: CompressionOptions = { isSameLength: false, encoding: 'identity' }

type Packing = 'gzip' | 'deflate' | 'br'

/** A part of some bytes that is compressed separately. */
interface Packed {
  readonly packing: Packing
  /** Positions of its bytes; HTTP/1.1 puts chunk lengths between them. */
  readonly ranges: readonly (readonly [start: number, end: number])[]
  /** Head of the HTTP/1.1 answer of which this is the body, if the bytes include it. */
  readonly head?: string
}

/** Larger contents are not unpacked, because the program waits for the result. */
const UNPACKED_MAX = 8 << 20
/** Larger contents are compressed less: the best compression takes seconds for a few megabytes. */
const BEST_BROTLI_MAX = 64 << 10
const GZIP_FIRST = 0x1f
const GZIP = Buffer.from([GZIP_FIRST, 0x8b, 0x08])
const HEADER_MAX = 16_384
const HEAD_END = '\r\n\r\n'

/** A cheap test, because most bytes are not compressed. */
export function mayBeCompressed(bytes: Buffer, { encoding }: CompressionOptions): boolean {
  if (encoding === 'identity') return false
  return (
    encoding !== undefined ||
    (bytes.indexOf(GZIP_FIRST) >= 0 && bytes.indexOf(GZIP) >= 0) ||
    isZlib(bytes, 0) ||
    (isHttp(bytes) && ENCODED.test(headOf(bytes)))
  )
}

/**
 * Masks compressed content: unpacks, masks and packs it again. Returns `bytes` if nothing has
 * changed. Content that a program compresses is packed without compression, because the result of
 * compression depends on the level and the version of zlib; a replay that compresses placeholders
 * then has the same bytes.
 *
 * Not promised: content that arrives in several pieces is not unpacked; see `StreamMask`.
 */
export function maskCompressed(
  bytes: Buffer,
  options: CompressionOptions,
  mask: (inner: Buffer) => Buffer,
): Buffer {
  let current = bytes
  for (const packed of findPacked(bytes, options)) {
    const given = joined(current, packed)
    const unpacked = unpack(given, packed.packing)
    if (unpacked === undefined) continue
    const masked = mask(unpacked.content)
    if (masked === unpacked.content || masked.equals(unpacked.content)) {
      if (options.isSameLength || !hasPlaceholder(masked)) continue
    }
    const rest = given.subarray(unpacked.used)
    if (!options.isSameLength) {
      const before = current.subarray(0, packed.ranges[0]?.[0])
      const after = maskCompressed(rest, REST, mask)
      return Buffer.concat([before, pack(masked, packed.packing), after])
    }
    // Usually fits, because placeholders compress better than secrets. Decoders ignore bytes after
    // the end.
    const repacked = smallest(masked, packed.packing)
    const fits = repacked.length <= unpacked.used
    if (!fits && packed.head !== undefined) return reframed(current, packed, repacked, rest)
    // If it does not fit, nothing is stored. A replay stops there, because the client cannot unpack
    // it.
    const fitting = Buffer.concat(fits ? [repacked] : [], unpacked.used)
    current = written(current, packed, Buffer.concat([fitting, rest]))
  }
  return current
}

/** Position of compressed content that is incomplete or too large; undefined if there is none. */
export function unreadableFrom(bytes: Buffer): number | undefined {
  const isHead = isHttp(bytes) && ENCODED.test(headOf(bytes))
  if (!isHead && bytes.indexOf(GZIP) !== 0 && !isZlib(bytes, 0)) return undefined
  for (const packed of findPacked(bytes, REST))
    if (unpack(joined(bytes, packed), packed.packing) === undefined)
      return packed.ranges[0]?.[0] ?? bytes.length
  return undefined
}

const REST: CompressionOptions = { isSameLength: false }

/** Encoded or not: a replay encodes placeholders as the program encoded the secrets. */
function hasPlaceholder(content: Buffer): boolean {
  const text = content.toString('latin1')
  if (placeholders === undefined) {
    placeholders = new KnownValues()
    placeholders.set('retake-h', 'xxxxxxxx')
  }
  return placeholders.replace(text) !== text
}
let placeholders: KnownValues | undefined

const isHttp = (bytes: Buffer): boolean =>
  bytes[0] === HTTP[0] && bytes.subarray(0, HTTP.length).equals(HTTP)
const HTTP = Buffer.from('HTTP/')
const ENCODED = /^content-encoding:\s*(gzip|deflate|br)\s*$/im
const CHUNKED = /^transfer-encoding:\s*chunked\s*$/im

function headOf(bytes: Buffer): string {
  const end = bytes.subarray(0, HEADER_MAX).indexOf(HEAD_END)
  return end < 0 ? '' : bytes.subarray(0, end).toString('latin1')
}

const isZlib = (bytes: Buffer, at: number): boolean =>
  bytes[at] === 0x78 &&
  bytes.length > at + 1 &&
  ((bytes[at] << 8) | (bytes[at + 1] ?? 0)) % 31 === 0

function* findPacked(bytes: Buffer, { encoding }: CompressionOptions): Generator<Packed> {
  const whole = [[0, bytes.length]] as const
  if (encoding === 'br') yield { packing: 'br', ranges: whole }
  if (isHttp(bytes)) {
    const head = headOf(bytes)
    const packing = ENCODED.exec(head)?.[1]?.toLowerCase() as Packing | undefined
    const body = head.length + HEAD_END.length
    if (packing !== undefined)
      yield {
        packing,
        head,
        ranges: CHUNKED.test(head) ? chunkRanges(bytes, body) : [[body, bytes.length]],
      }
  }
  if (isZlib(bytes, 0)) yield { packing: 'deflate', ranges: whole }
  for (let at = bytes.indexOf(GZIP); at >= 0; at = bytes.indexOf(GZIP, at + 1))
    yield { packing: 'gzip', ranges: [[at, bytes.length]] }
}

/** Content of a chunked body that starts at `from`. */
function chunkRanges(bytes: Buffer, from: number): [number, number][] {
  const ranges: [number, number][] = []
  for (let at = from; at < bytes.length;) {
    const line = bytes.indexOf('\r\n', at)
    const length = Number.parseInt(bytes.subarray(at, Math.max(at, line)).toString('latin1'), 16)
    if (line < 0 || !(length > 0)) break
    ranges.push([line + 2, Math.min(bytes.length, line + 2 + length)])
    at = line + 2 + length + 2
  }
  return ranges
}

function joined(bytes: Buffer, { ranges }: Packed): Buffer {
  const parts = ranges.map(([start, end]) => bytes.subarray(start, end))
  return parts.length === 1 ? (parts[0] ?? bytes) : Buffer.concat(parts)
}

/** A copy of `bytes` with `content` at the positions of `ranges`. */
function written(bytes: Buffer, { ranges }: Packed, content: Buffer): Buffer {
  const copy = Buffer.from(bytes)
  let from = 0
  for (const [start, end] of ranges) from += content.copy(copy, start, from, from + end - start)
  return copy
}

/** The answer with a different body and the matching length. */
function reframed(
  bytes: Buffer,
  { head = '', ranges }: Packed,
  body: Buffer,
  rest: Buffer,
): Buffer {
  const isChunked = CHUNKED.test(head)
  const lengths = isChunked ? head : head.replace(/^(content-length:\s*)\d+/im, `$1${body.length}`)
  const parts = isChunked
    ? [Buffer.from(`${body.length.toString(16)}\r\n`), body, bytes.subarray(ranges.at(-1)?.[1])]
    : [body, rest]
  return Buffer.concat([Buffer.from(lengths + HEAD_END, 'latin1'), ...parts])
}

/** Undefined if the bytes are not in this format, incomplete, or too large. */
function unpack(bytes: Buffer, packing: Packing): { content: Buffer; used: number } | undefined {
  const header = packing === 'gzip' ? gzipHeaderBytes(bytes) : 0
  return attempt(() => {
    const options = { maxOutputLength: UNPACKED_MAX, info: true }
    const { buffer, engine } = UNPACK[packing](bytes.subarray(header), options)
    const used = header + engine.bytesWritten + (packing === 'gzip' ? GZIP_TRAILER_BYTES : 0)
    return used > bytes.length ? undefined : { content: buffer, used }
  })
}

const GZIP_TRAILER_BYTES = 8
/** RFC 1952: ten bytes, and the optional fields announced by flags. */
function gzipHeaderBytes(bytes: Buffer): number {
  const flags = bytes[3] ?? 0
  let at = 10
  if ((flags & 4) !== 0) at += 2 + (bytes[at] ?? 0) + ((bytes[at + 1] ?? 0) << 8)
  for (const text of [8, 16]) {
    if ((flags & text) === 0) continue
    const end = bytes.indexOf(0, at)
    at = end < 0 ? bytes.length : end + 1
  }
  return Math.min(bytes.length, (flags & 2) === 0 ? at : at + 2)
}

type Unpack = (
  bytes: Buffer,
  options: zlib.ZlibOptions,
) => { buffer: Buffer; engine: { bytesWritten: number } }
const UNPACK = {
  // Skips the header: `gunzip` treats bytes after the end as another member, and fails.
  gzip: zlib.inflateRawSync,
  deflate: zlib.inflateSync,
  br: zlib.brotliDecompressSync,
} as unknown as Readonly<Record<Packing, Unpack>>

/** Gives the same bytes in every version of Node. */
function pack(content: Buffer, packing: Packing): Buffer {
  if (packing === 'gzip') return zlib.gzipSync(content, { level: 0 })
  if (packing === 'deflate') return zlib.deflateSync(content, { level: 0 })
  return zlib.brotliCompressSync(content, {
    params: {
      [zlib.constants.BROTLI_PARAM_QUALITY]: content.length > BEST_BROTLI_MAX ? 5 : 11,
    },
  })
}

function smallest(content: Buffer, packing: Packing): Buffer {
  if (packing === 'br') return pack(content, 'br')
  const compress = packing === 'gzip' ? zlib.gzipSync : zlib.deflateSync
  const { Z_DEFAULT_STRATEGY, Z_FILTERED, Z_FIXED, Z_RLE } = zlib.constants
  const tries = [Z_DEFAULT_STRATEGY, Z_FILTERED, Z_FIXED, Z_RLE].map((strategy) =>
    compress(content, { level: 9, memLevel: 9, strategy }),
  )
  return tries.reduce((best, each) => (each.length < best.length ? each : best))
}
