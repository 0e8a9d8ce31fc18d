import { ByteWindow } from './byte-window.js'
import { closingType } from './codec.js'
import type { ByteSource, TapePlatform } from './platform.js'
import { type Frames, PackedFrames, PlainFrames, readFrame } from './frames.js'
import { type FoundIndex, INDEX_EVERY, readIndex } from './index-footer.js'
import { TapeError } from './errors.js'
import { readSeed, type Recovered, recover, scanRecords } from './recovery.js'

/** `ended`: the run reached its end but was not sealed. `truncated`: it was killed, or is still running. */
export type TapeStatus = 'sealed' | 'ended' | 'truncated'

export interface Layout {
  readonly frames: Frames
  readonly status: TapeStatus
  readonly seed: number
  /** Length of the file. */
  readonly bytes: number
  readonly end: number
  /** Number of bytes after the records that belong to no record. */
  readonly tornBytes: number
  /** True if the seal and the whole index after it are present. */
  readonly isComplete: boolean
}

/** Where a tape stops being what was written, and why. Its events before that are intact. */
export interface Damage {
  readonly seq: number
  readonly why: string
}

/** Like `openLayout`, but of a tape that is damaged after its first record, its intact part. */
export function openIntactLayout(
  platform: TapePlatform,
  source: ByteSource,
  path: string,
): { readonly layout: Layout; readonly damage?: Damage } {
  try {
    return { layout: openLayout(platform, source, path) }
  } catch (error) {
    if (!(error instanceof TapeError) || error.code !== 'TAPE_CORRUPT') throw error
    const { seq, why } = error
    if (seq === undefined || seq === 0) throw error
    const found = scanRecords(platform, source, path)
    return { layout: scannedLayout(platform, source, path, found), damage: { seq, why } }
  }
}

/** Finds the records of a tape: through its index if it is finished, else by reading all of it. */
export function openLayout(platform: TapePlatform, source: ByteSource, path: string): Layout {
  const seed = readSeed(platform, new ByteWindow(source, 1 << 12), path)
  const found = readIndex(platform, source, seed)
  if (found !== undefined && sealIsThere(platform, source, seed, found)) {
    const { blocks, count, seal, offsets: every } = found.index
    const offsets = new Float64Array(count).fill(-1)
    every?.forEach((offset, i) => {
      offsets[i * INDEX_EVERY] = offset
    })
    offsets[0] = 0
    offsets[count - 1] = seal
    const plain = new PlainFrames(platform, source, { seed, offsets, path })
    const frames =
      blocks === undefined
        ? plain
        : new PackedFrames(platform, source, { seed, path, blocks, ends: plain })
    const { size } = source
    return {
      frames,
      status: 'sealed',
      seed,
      bytes: size,
      end: size,
      tornBytes: 0,
      isComplete: true,
    }
  }
  return scannedLayout(platform, source, path, recover(platform, source, path))
}

function scannedLayout(
  platform: TapePlatform,
  source: ByteSource,
  path: string,
  recovered: Recovered,
): Layout {
  const { seed } = recovered
  const offsets = Float64Array.from(recovered.offsets)
  return {
    frames: new PlainFrames(platform, source, { seed, offsets, path, checked: true }),
    status: recovered.hasSeal ? 'sealed' : recovered.hasEnd ? 'ended' : 'truncated',
    seed,
    bytes: source.size,
    end: recovered.end,
    tornBytes: source.size - recovered.end,
    isComplete: false,
  }
}

/** Accepts an index only if it points to a seal with the right number and directly follows it. */
function sealIsThere(
  platform: TapePlatform,
  source: ByteSource,
  seed: number,
  { index, offset }: FoundIndex,
): boolean {
  const window = new ByteWindow(source, 1 << 12)
  const frame = readFrame(platform, window, seed, index.seal, index.count - 1)
  return (
    typeof frame !== 'string' &&
    frame.next === offset &&
    closingType(window.bytes, index.seal - window.start) === 'seal'
  )
}
