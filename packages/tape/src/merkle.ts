import type { TapeDoor } from './door.js'

/**
 * Merkle tree hash of RFC 6962 over a growing list of sha256 hashes, in memory
 * proportional to the logarithm of its length.
 */
export class MerkleTree {
  readonly #door: TapeDoor
  /** Roots of the complete subtrees, largest first. */
  readonly #roots: string[] = []
  readonly #leaf = Uint8Array.of(0, ...new Uint8Array(HASH_BYTES))
  readonly #node = Uint8Array.of(1, ...new Uint8Array(2 * HASH_BYTES))
  #count = 0

  constructor(door: TapeDoor) {
    this.#door = door
  }

  add(leafHex: string): void {
    putHex(leafHex, this.#leaf, 1)
    let root = this.#door.sha256(this.#leaf)
    for (let n = this.#count; n % 2 === 1; n = (n - 1) / 2) {
      root = this.#join(this.#roots.pop() ?? '', root)
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
      root = this.#join(left, root)
    }
    return root
  }

  #join(left: string, right: string): string {
    putHex(left, this.#node, 1)
    putHex(right, this.#node, 1 + HASH_BYTES)
    return this.#door.sha256(this.#node)
  }
}

const HASH_BYTES = 32
const HEX = '0123456789abcdef'

/** Values of lower-case hex digits, by their character codes: this is done for every event. */
const DIGITS = Uint8Array.from({ length: 128 }, (_, code) =>
  Math.max(0, HEX.indexOf(String.fromCharCode(code))),
)

function putHex(hex: string, bytes: Uint8Array, at: number): void {
  for (let i = 0, to = at; i < hex.length; i += 2, to++) {
    const high = DIGITS[hex.charCodeAt(i)] ?? 0
    bytes[to] = 16 * high + (DIGITS[hex.charCodeAt(i + 1)] ?? 0)
  }
}
