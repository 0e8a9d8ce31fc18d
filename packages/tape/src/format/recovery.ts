import { ByteWindow } from './byte-window.js'
import { closingType, looksLikeRecord, readLine } from './codec.js'
import type { ByteSource, TapePlatform } from './platform.js'
import { readFrame, storedIsWhole } from './frames.js'
import { tapeErrors } from './errors.js'
import { TAPE_FORMAT } from './events.js'
import { encodeIndex, INDEX_EVERY } from './index-footer.js'

/** The longest valid prefix of a tape. */
export interface Recovered {
  readonly seed: number
  readonly offsets: readonly number[]
  readonly end: number
  readonly hasEnd: boolean
  readonly hasSeal: boolean
}

/**
 * Reads the checksum of the run record, which seeds those of all other records, or throws. Every
 * format ever written starts with the same few bytes, so that a tape from a newer version can be
 * distinguished from a file that is not a tape.
 */
export function readSeed(platform: TapePlatform, window: ByteWindow, path: string): number {
  const size = window.source.size
  if (size === 0) throw tapeErrors.TAPE_EMPTY(path)
  const magic = '{"seq":0,"at":'
  const index = window.show(0, 200)
  const head = platform.text(window.bytes, index, Math.min(window.bytes.length, index + 200))
  if (!head.startsWith(magic.slice(0, size))) throw tapeErrors.TAPE_NOT_A_TAPE(path)
  const format = /^\{"seq":0,"at":[^,]*,"type":"run","format":(\d+)[,}]/.exec(head)?.[1]
  if (format !== undefined && Number(format) > TAPE_FORMAT) {
    throw tapeErrors.TAPE_FROM_FUTURE(path, Number(format), TAPE_FORMAT)
  }
  const frame = readFrame(platform, window, 0, 0, 0)
  if (frame === 'no-line' || frame === 'short-body') throw tapeErrors.TAPE_NO_RUN(path, size)
  if (typeof frame === 'string') {
    throw tapeErrors.TAPE_CORRUPT(
      path,
      { seq: 0, offset: 0 },
      'Its first line was changed after it was written.',
    )
  }
  return frame.line.crc
}

/**
 * Scans a tape from its start and stops at the first incomplete record. The rest is a torn tail,
 * which all readers ignore, if a kill could have left it: part of one record, or part of the index
 * after the seal. Anything else is damage, and the tape is refused: a valid record after a bad one,
 * records of another tape, any other bytes after the seal.
 */
export function recover(platform: TapePlatform, source: ByteSource, path: string): Recovered {
  const found = scanRecords(platform, source, path)
  const { seed, offsets, end, hasSeal } = found
  const window = new ByteWindow(source)
  if (startsBlock(window, end)) {
    throw tapeErrors.TAPE_CORRUPT(
      path,
      { seq: offsets.length, offset: end },
      'It is a packed tape that has lost its index, so its end is missing or damaged.',
    )
  }
  if (hasSeal) checkAfterSeal(platform, window, path, { seed, offsets, end })
  else checkTornTail(platform, window, path, { seed, offset: end, missing: offsets.length })
  return found
}

/** The records from the start of a tape up to the first that is not whole, whatever follows. */
export function scanRecords(platform: TapePlatform, source: ByteSource, path: string): Recovered {
  const window = new ByteWindow(source)
  const runSeed = readSeed(platform, window, path)
  const offsets: number[] = []
  let hasEnd = false
  let hasSeal = false
  let offset = 0
  while (!hasSeal) {
    const seed = offsets.length === 0 ? 0 : runSeed
    const frame = readFrame(platform, window, seed, offset, offsets.length)
    if (typeof frame === 'string') break
    const closing = closingType(window.bytes, offset - window.start)
    if (!storedIsWhole(platform, window, seed, frame)) break
    offsets.push(offset)
    offset = frame.next
    hasEnd ||= closing === 'end'
    hasSeal = closing === 'seal'
  }
  if (offsets.length === 0) {
    throw tapeErrors.TAPE_CORRUPT(
      path,
      { seq: 0, offset: 0 },
      'The details of the run were changed after they were written.',
    )
  }
  return { seed: runSeed, offsets, end: offset, hasEnd, hasSeal }
}

/** A seal is followed by the index of the tape, or by its start if the writer was killed. */
function checkAfterSeal(
  platform: TapePlatform,
  { source }: ByteWindow,
  path: string,
  found: { readonly seed: number; readonly offsets: readonly number[]; readonly end: number },
): void {
  const { seed, offsets, end } = found
  const seal = offsets.at(-1) ?? 0
  const every = offsets.filter((_, seq) => seq % INDEX_EVERY === 0)
  const index = encodeIndex(platform, seed, { count: offsets.length, seal, offsets: every })
  const tailBytes = source.size - end
  const tail = source.read(end, Math.min(tailBytes, index.length))
  if (tailBytes <= index.length && tail.every((byte, i) => byte === index[i])) return
  throw tapeErrors.TAPE_CORRUPT(
    path,
    { seq: offsets.length, offset: end },
    `The seal ends the run, but ${tailBytes} bytes follow it that are not the index of this tape.`,
  )
}

/** Throws unless a kill could have left the bytes at `offset`, where event `missing` should be. */
function checkTornTail(
  platform: TapePlatform,
  window: ByteWindow,
  path: string,
  { seed, offset, missing }: { readonly seed: number; readonly offset: number; missing: number },
): void {
  const later = findLaterRecord(platform, window, seed, offset, missing)
  if (later !== undefined) {
    throw tapeErrors.TAPE_CORRUPT(
      path,
      { seq: missing, offset },
      `The record there is damaged or missing, but event ${later.seq} after it (byte ${later.offset}) is whole: this is not a torn end.`,
    )
  }
  const foreign = findForeignRecord(platform, window, seed, offset, missing)
  if (foreign !== undefined) {
    throw tapeErrors.TAPE_CORRUPT(
      path,
      { seq: missing, offset: foreign },
      'A whole record is there that does not belong to this run: it was changed, or comes from another tape.',
    )
  }
}

/** True if a block of a packed tape, or the start of one, is at `offset`. */
export function startsBlock(window: ByteWindow, offset: number): boolean {
  const index = window.show(offset, 3)
  return window.bytes[index] === 0x7b && window.bytes[index + 2] === 0x70
}

/**
 * Searches for a complete header line of this tape after the position where event `missing` should
 * be. Lines with a smaller number are stale copies and do not count. Nor does the line of event
 * `missing` itself, whose body was torn.
 */
function findLaterRecord(
  platform: TapePlatform,
  window: ByteWindow,
  seed: number,
  from: number,
  missing: number,
): { readonly seq: number; readonly offset: number } | undefined {
  for (let offset = from; offset < window.source.size;) {
    const newline = window.newline(offset)
    if (newline < 0) return undefined
    const line = readLine(
      platform,
      seed,
      window.bytes,
      offset - window.start,
      newline - window.start,
    )
    const isItself = offset === from && line?.seq === missing
    if (line !== undefined && line.seq >= missing && !isItself) return { seq: line.seq, offset }
    offset = newline + 1
  }
  return undefined
}

/**
 * Offset of a complete record line at or after `from` that this run did not write. The body of a
 * torn record may contain anything, so it is skipped. A crash of the machine may leave zeros inside
 * a line, but never a complete line of text.
 */
function findForeignRecord(
  platform: TapePlatform,
  window: ByteWindow,
  seed: number,
  from: number,
  missing: number,
): number | undefined {
  const torn = readFrame(platform, window, seed, from, missing)
  if (torn === 'short-body') return undefined
  for (let offset = typeof torn === 'string' ? from : torn.next; offset < window.source.size;) {
    const newline = window.newline(offset)
    if (newline < 0) return undefined
    const start = offset - window.start
    const end = newline - window.start
    if (looksLikeRecord(window.bytes, start, end)) {
      // A stale copy of an earlier record of this run is not foreign.
      if (readLine(platform, seed, window.bytes, start, end) === undefined) return offset
    }
    offset = newline + 1
  }
  return undefined
}
