import type { TapeDoor } from './door.js'

/**
 * Merkle tree hash of RFC 6962 over a growing list of sha256 hashes, in memory
 * proportional to the logarithm of its length.
 */
export class MerkleTree {
  readonly #door: TapeDoor
  /** Roots of the complete subtrees, largest first. */
  readonly #roots: string[] = []
  readonly #scratch = new Uint8Array(1 + 2 * 32)
  #count = 0

  constructor(door: TapeDoor) {
    this.#door = door
  }

  add(leafHex: string): void {
    let root = this.#hash(0, leafHex)
    for (let n = this.#count; n % 2 === 1; n = (n - 1) / 2) {
      root = this.#hash(1, (this.#roots.pop() ?? '') + root)
    }
    this.#roots.push(root)
    this.#count++
  }

  /** Root of the tree so far; more can be added after. */
  root(): string {
    const roots = [...this.#roots]
    let root = roots.pop()
    if (root === undefined) return this.#door.sha256('')
    for (let left = roots.pop(); left !== undefined; left = roots.pop()) {
      root = this.#hash(1, left + root)
    }
    return root
  }

  /** sha256 of the prefix and one or two hashes. */
  #hash(prefix: 0 | 1, hex: string): string {
    const bytes = this.#scratch.subarray(0, 1 + hex.length / 2)
    bytes[0] = prefix
    for (let i = 1; i < bytes.length; i++) {
      bytes[i] = 16 * hexDigit(hex.charCodeAt(2 * i - 2)) + hexDigit(hex.charCodeAt(2 * i - 1))
    }
    return this.#door.sha256(bytes)
  }
}

/** Value of a lower-case hex digit. */
const hexDigit = (code: number): number => (code <= 57 ? code - 48 : code - 87)
