import type { TapePlatform } from './platform.js'

const HASH_BYTES = 32
/** Hashes per node. Calling a hash costs more than hashing these bytes. */
const WIDTH = 16

/** Hashes of one level without a node above them yet. */
interface Level {
  readonly bytes: Uint8Array
  count: number
}

/**
 * Merkle tree over a growing list of sha256 hashes, with memory proportional to the logarithm of
 * its length. Every sixteen hashes of a level, and the remaining ones at the end, are combined into
 * a node of the next level, until one is left.
 */
export class MerkleTree {
  readonly #platform: TapePlatform
  readonly #levels: Level[] = []

  constructor(platform: TapePlatform) {
    this.#platform = platform
  }

  add(leafHex: string): void {
    this.#put(leafHex, 0)
  }

  /** Root of the tree so far; more leaves can be added later. */
  root(): string {
    let carried: string | undefined
    for (const [at, { bytes, count }] of this.#levels.entries()) {
      const all = new Uint8Array((WIDTH + 1) * HASH_BYTES)
      all.set(bytes)
      if (carried !== undefined) putHex(carried, all, count * HASH_BYTES)
      const length = (carried === undefined ? count : count + 1) * HASH_BYTES
      const isLast = at === this.#levels.length - 1
      if (isLast && length === HASH_BYTES) return carried ?? toHex(bytes.subarray(0, HASH_BYTES))
      if (length > 0) carried = this.#platform.sha256(all.subarray(0, length))
    }
    return carried ?? this.#platform.sha256('')
  }

  #put(hex: string, at: number): void {
    const level = (this.#levels[at] ??= { bytes: new Uint8Array(WIDTH * HASH_BYTES), count: 0 })
    putHex(hex, level.bytes, level.count * HASH_BYTES)
    level.count++
    if (level.count < WIDTH) return
    level.count = 0
    this.#put(this.#platform.sha256(level.bytes), at + 1)
  }
}

/** One level of the path from a leaf to the root: the hashes under one node, without the proven one. */
export interface ProofLevel {
  /** Index of the proven hash under its node. */
  readonly at: number
  readonly beside: readonly string[]
}

/**
 * The levels from leaf `index` to the root of a `MerkleTree` of these leaves. There are log16(n)
 * levels, with at most 15 hashes each.
 */
export function merkleProof(
  platform: TapePlatform,
  leaves: readonly string[],
  index: number,
): ProofLevel[] {
  const proof: ProofLevel[] = []
  let level = leaves
  for (let at = index; level.length > 1; at = Math.floor(at / WIDTH)) {
    const from = at - (at % WIDTH)
    const group = level.slice(from, from + WIDTH)
    proof.push({ at: at - from, beside: group.toSpliced(at - from, 1) })
    const nodes: string[] = []
    for (let start = 0; start < level.length; start += WIDTH)
      nodes.push(nodeHash(platform, level.slice(start, start + WIDTH)))
    level = nodes
  }
  return proof
}

/** Index of the leaf that a proof belongs to. */
export const provenIndex = (proof: readonly ProofLevel[]): number =>
  proof.reduceRight((index, { at }) => index * WIDTH + at, 0)

/** The root that a proof leads to; undefined if `merkleProof` cannot have made it. */
export function provenRoot(
  platform: TapePlatform,
  leafHex: string,
  proof: readonly ProofLevel[],
): string | undefined {
  let hash = leafHex
  for (const { at, beside } of proof) {
    if (at > beside.length || beside.length >= WIDTH) return undefined
    hash = nodeHash(platform, beside.toSpliced(at, 0, hash))
  }
  return hash
}

function nodeHash(platform: TapePlatform, hashes: readonly string[]): string {
  const bytes = new Uint8Array(hashes.length * HASH_BYTES)
  for (const [at, hash] of hashes.entries()) putHex(hash, bytes, at * HASH_BYTES)
  return platform.sha256(bytes)
}

export const toHex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')

const HEX = '0123456789abcdef'

/** Values of lower-case hex digits, by character code, because this runs for every event. */
const DIGITS = Uint8Array.from({ length: 128 }, (_, code) =>
  Math.max(0, HEX.indexOf(String.fromCharCode(code))),
)

/** Writes a hash, given in hex, as bytes. */
function putHex(hex: string, bytes: Uint8Array, at: number): void {
  for (let i = 0, to = at; i < hex.length; i += 2, to++) {
    const high = DIGITS[hex.charCodeAt(i)] ?? 0
    bytes[to] = 16 * high + (DIGITS[hex.charCodeAt(i + 1)] ?? 0)
  }
}
