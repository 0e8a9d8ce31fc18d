import { encodeRecord, type Envelope } from './codec.js'
import type { WriterPlatform } from './platform.js'
import { literalBytes } from './body-reader.js'
import { type Frame, type Frames, inflatedMaxBytes } from './frames.js'
import { encodeIndex } from './index-footer.js'
import { joinBytes } from './values/bytes.js'

/**
 * A packed tape has its run record, seal and index unchanged. All records between them are in
 * blocks:
 *
 *     {"pack":{…}} TAB {"stored":…,"size":…,"crc":"…"} LF <raw deflate> LF
 *
 * Inflated, a block has the header lines of its records without their CRCs, then all their stored
 * bytes. Events, hashes and bodies stay the same, so packing changes neither the chain nor the
 * seal.
 */
export interface Pack {
  readonly from: number
  readonly count: number
  /** Length of the header lines in bytes; the stored bytes follow. */
  readonly lines: number
}

/** Inflated size at which a block is closed. Larger blocks compress better, smaller ones open faster. */
const BLOCK_BYTES = 256 << 10
const DEFLATE_LEVEL = 9

const encoder = new TextEncoder()

/** A record on its way into a block: its stored bytes are no longer compressed individually. */
interface LooseRecord {
  readonly text: string
  readonly envelope: Envelope
  readonly stored: Uint8Array
}

/** The pieces of a packed tape with the same events as `frames`, which must be sealed. */
export function* packFrames(
  platform: WriterPlatform,
  frames: Frames,
  seed: number,
): Generator<Uint8Array, void> {
  const last = frames.count - 1
  const blocks: [from: number, offset: number][] = []
  let offset = 0
  const append = (piece: Uint8Array): Uint8Array => {
    offset += piece.length
    return piece
  }
  yield append(encodeRecord(platform, 0, looseRecordOf(frames, frames.frame(0))))
  let records: LooseRecord[] = []
  let bytes = 0
  for (let seq = 1; seq < last; seq++) {
    const record = looseRecord(platform, frames, frames.frame(seq))
    records.push(record)
    bytes += record.text.length + record.stored.length
    if (bytes < BLOCK_BYTES && seq < last - 1) continue
    const from = seq + 1 - records.length
    blocks.push([from, offset])
    yield append(encodeBlock(platform, seed, from, records))
    records = []
    bytes = 0
  }
  const seal = offset
  yield append(encodeRecord(platform, seed, looseRecordOf(frames, frames.frame(last))))
  yield encodeIndex(platform, seed, { count: frames.count, seal, blocks })
}

function looseRecordOf(frames: Frames, frame: Frame): LooseRecord {
  const { crc: _, ...envelope } = frame.envelope()
  return { text: frame.eventText, envelope, stored: frames.stored(frame) }
}

function looseRecord(platform: WriterPlatform, frames: Frames, frame: Frame): LooseRecord {
  const { text, envelope: kept, stored: bytes } = looseRecordOf(frames, frame)
  const { deflate, stored: _, size, ...rest } = kept
  const stored =
    deflate === undefined ? bytes : platform.inflateRaw(bytes, literalBytes(frame.envelope()))
  const envelope = {
    ...(stored.length > 0 ? { stored: stored.length } : {}),
    ...(size === undefined || size === stored.length ? {} : { size }),
    ...rest,
  }
  return { text, envelope, stored }
}

function encodeBlock(
  platform: WriterPlatform,
  seed: number,
  from: number,
  records: readonly LooseRecord[],
): Uint8Array {
  const lines = records.map(({ text, envelope }) => `${text}\t${JSON.stringify(envelope)}\n`)
  const lineBytes = encoder.encode(lines.join(''))
  const content = joinBytes([lineBytes, ...records.map(({ stored }) => stored)])
  const deflated = platform.deflateRaw(content, DEFLATE_LEVEL)
  // A reader refuses what inflates to much more than its length.
  const isTooSmall = content.length > inflatedMaxBytes(deflated.length)
  const stored = isTooSmall ? platform.deflateRaw(content, 0) : deflated
  const pack: Pack = { from, count: records.length, lines: lineBytes.length }
  const envelope = { stored: stored.length, size: content.length }
  return encodeRecord(platform, seed, { text: JSON.stringify({ pack }), envelope, stored })
}
