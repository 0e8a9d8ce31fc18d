import type { WriterPlatform } from './platform.js'

/** A stretch of the target that also occurs in the base. */
export interface BlockMatch {
  readonly baseOffset: number
  readonly targetOffset: number
  readonly length: number
}

/** Two ranges to compare; ends are exclusive. */
export interface BlockRanges {
  readonly base: Uint8Array
  readonly baseFrom: number
  readonly baseTo: number
  readonly target: Uint8Array
  readonly targetFrom: number
  readonly targetTo: number
}

/** Larger ranges are not matched: unrelated megabytes cost too much. */
export const MATCH_MAX_BYTES = 1 << 20

const BLOCK = 32
const BLOCK_BITS = 5
/** Twice the blocks of the largest range, so that half the slots stay empty. */
const SLOTS_MAX = (2 * MATCH_MAX_BYTES) / BLOCK
const GOLDEN = 0x9e3779b1

/**
 * Slot of a block's hash: its base offset plus one, or 0 if empty; and the hash itself, so that
 * most false hits need no comparison.
 */
const slotOffset = new Int32Array(SLOTS_MAX)
const slotHash = new Int32Array(SLOTS_MAX)

/**
 * Finds, in order of the target, ranges of at least 32 bytes that also occur in the base. Every
 * 32nd base position is in a hash table, every target position is looked up, and each hit is
 * extended both ways.
 */
export function matchBlocks(equal: WriterPlatform['equal'], ranges: BlockRanges): BlockMatch[] {
  const { base, baseFrom, baseTo, target, targetFrom, targetTo } = ranges
  const bits = enterBlocks(base, baseFrom, baseTo)
  const matches: BlockMatch[] = []
  let free = targetFrom
  let hash = 0
  let seen = 0
  for (let i = targetFrom; i < targetTo;) {
    hash = ((hash << 1) + (GEAR[target[i] ?? 0] ?? 0)) | 0
    i++
    seen++
    if (seen < BLOCK) continue
    const baseAt = findBlock(hash, bits)
    const targetAt = i - BLOCK
    if (baseAt < 0 || !equal(base, baseAt, target, targetAt, BLOCK)) continue
    let length = BLOCK
    const max = Math.min(targetTo - targetAt, baseTo - baseAt)
    for (const step of [4096, 512, 64]) {
      while (
        length + step <= max &&
        equal(base, baseAt + length, target, targetAt + length, step)
      ) {
        length += step
      }
    }
    while (length < max && base[baseAt + length] === target[targetAt + length]) length++
    let back = 0
    const backMax = Math.min(targetAt - free, baseAt - baseFrom)
    while (back < backMax && base[baseAt - back - 1] === target[targetAt - back - 1]) back++
    matches.push({
      baseOffset: baseAt - back,
      targetOffset: targetAt - back,
      length: length + back,
    })
    free = targetAt + length
    i = free
    hash = 0
    seen = 0
  }
  return matches
}

/** Adds the blocks of a range and returns the size of the table in bits. The first of equal blocks wins. */
function enterBlocks(base: Uint8Array, from: number, to: number): number {
  const blocks = (to - from) >> BLOCK_BITS
  let bits = 10
  while (1 << bits < blocks * 2) bits++
  slotOffset.fill(0, 0, 1 << bits)
  const mask = (1 << bits) - 1
  for (let at = from; at + BLOCK <= to; at += BLOCK) {
    let hash = 0
    for (let i = at; i < at + BLOCK; i++) hash = ((hash << 1) + (GEAR[base[i] ?? 0] ?? 0)) | 0
    let slot = Math.imul(hash, GOLDEN) >>> (32 - bits)
    if (slotOffset[slot] !== 0) {
      if (slotHash[slot] === hash) continue
      slot = (slot + 1) & mask
      if (slotOffset[slot] !== 0) continue
    }
    slotOffset[slot] = at + 1
    slotHash[slot] = hash
  }
  return bits
}

/** Base offset of a block with this hash; -1 if there is none. */
function findBlock(hash: number, bits: number): number {
  let slot = Math.imul(hash, GOLDEN) >>> (32 - bits)
  if (slotOffset[slot] === 0) return -1
  if (slotHash[slot] !== hash) {
    slot = (slot + 1) & ((1 << bits) - 1)
    if (slotOffset[slot] === 0 || slotHash[slot] !== hash) return -1
  }
  return (slotOffset[slot] ?? 0) - 1
}

/**
 * A random 32-bit number for each byte value. A sum of them that is shifted left once per byte
 * forgets a byte after 32 steps, which makes it a rolling hash.
 */
export const GEAR = new Int32Array(256)
for (let i = 0, x = 0x9e3779b9; i < GEAR.length; i++) {
  x ^= x << 13
  x ^= x >>> 17
  x ^= x << 5
  GEAR[i] = x
}
