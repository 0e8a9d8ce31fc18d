import { ByteWindow } from './byte-window.js'
import { closingType, readLine } from './codec.js'
import type { ByteSource, TapeDoor } from './door.js'
import { type Frame, readFrame, storedIsWhole } from './frames.js'
import { notATape, tapeCorrupt, tapeEmpty, tapeFromFuture, tapeWithoutRun } from './errors.js'
import { TAPE_FORMAT } from './events.js'

/** The longest valid prefix of a tape. */
export interface Recovered {
  /** CRC seed of the tape's records. */
  readonly seed: number
  /** Byte offset of each valid record. */
  readonly offsets: readonly number[]
  /** Where the valid records end. */
  readonly end: number
  readonly hasEnd: boolean
  readonly hasSeal: boolean
}

/** How far a tape must be read to trust its first record. */
export interface RunFrame {
  readonly seed: number
  readonly frame: Frame
}

/**
 * Finds the run record, or says why there is none. Every format that was ever
 * written starts with the same few bytes, so that a tape from the future can
 * be told from a file that is no tape at all.
 */
export function readRunFrame(door: TapeDoor, window: ByteWindow, path: string): RunFrame {
  const size = window.source.size
  if (size === 0) throw tapeEmpty(path)
  const magic = '{"seq":0,"at":'
  const head = startText(door, window)
  if (!head.startsWith(magic.slice(0, size))) throw notATape(path)
  const format = /^\{"seq":0,"at":[^,]*,"type":"run","format":(\d+)[,}]/.exec(head)?.[1]
  if (format !== undefined && Number(format) > TAPE_FORMAT) {
    throw tapeFromFuture(path, Number(format), TAPE_FORMAT)
  }
  const frame = readFrame(door, window, 0, 0, 0)
  if (frame === 'no-line' || frame === 'short-body') throw tapeWithoutRun(path, size)
  if (typeof frame === 'string') {
    throw tapeCorrupt(
      path,
      { seq: 0, offset: 0 },
      'Its first line was changed after it was written.',
    )
  }
  return { seed: frame.line.crc, frame }
}

function startText(door: TapeDoor, window: ByteWindow): string {
  const index = window.show(0, 200)
  return door.text(window.bytes, index, Math.min(window.bytes.length, index + 200))
}

/**
 * Scans a tape from its start and stops at the first record that is not whole.
 * What follows is a torn tail, ignored by all readers, unless a valid record
 * stands behind it: then bytes in the middle were damaged, and the tape is
 * refused rather than cut.
 */
export function recover(door: TapeDoor, source: ByteSource, path: string): Recovered {
  const window = new ByteWindow(source)
  const run = readRunFrame(door, window, path)
  const offsets: number[] = []
  let hasEnd = false
  let hasSeal = false
  let offset = 0
  while (!hasSeal) {
    const seed = offsets.length === 0 ? 0 : run.seed
    const frame = readFrame(door, window, seed, offset, offsets.length)
    if (typeof frame === 'string') break
    const closing = closingType(window.bytes, offset - window.start)
    if (!storedIsWhole(door, window, seed, frame)) break
    offsets.push(offset)
    offset = frame.next
    hasEnd ||= closing === 'end'
    hasSeal = closing === 'seal'
  }
  if (offsets.length === 0) {
    throw tapeCorrupt(
      path,
      { seq: 0, offset: 0 },
      'The details of the run were changed after they were written.',
    )
  }
  if (startsBlock(window, offset)) {
    throw tapeCorrupt(
      path,
      { seq: offsets.length, offset },
      'It is a packed tape that has lost its index, so its end is missing or damaged.',
    )
  }
  const later = findLaterRecord(door, window, run.seed, offset, offsets.length)
  if (later !== undefined) {
    throw tapeCorrupt(
      path,
      { seq: offsets.length, offset },
      hasSeal
        ? 'A record follows the seal, but a seal is always the last one.'
        : `The record there is damaged or missing, but event ${later.seq} after it (byte ${later.offset}) is whole: this is no torn end.`,
    )
  }
  return { seed: run.seed, offsets, end: offset, hasEnd, hasSeal }
}

/** Whether a block of a packed tape, or the start of one, stands at `offset`. */
function startsBlock(window: ByteWindow, offset: number): boolean {
  const index = window.show(offset, 3)
  return window.bytes[index] === 0x7b && window.bytes[index + 2] === 0x70
}

/**
 * Looks for a whole header line of this tape behind the place where event
 * `missing` should be. Lines with a smaller number are stale copies and do not
 * count, nor does the line of the event itself: its body is what was torn.
 */
function findLaterRecord(
  door: TapeDoor,
  window: ByteWindow,
  seed: number,
  from: number,
  missing: number,
): { readonly seq: number; readonly offset: number } | undefined {
  for (let offset = from; offset < window.source.size;) {
    const newline = window.newline(offset)
    if (newline < 0) return undefined
    const line = readLine(door, seed, window.bytes, offset - window.start, newline - window.start)
    const isItself = offset === from && line?.seq === missing
    if (line !== undefined && line.seq >= missing && !isItself) return { seq: line.seq, offset }
    offset = newline + 1
  }
  return undefined
}
