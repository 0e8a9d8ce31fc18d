import type { TapePlatform } from '../platform.js'
import { putHex, type HashTree } from '../merkle.js'

/** The tree of formats 1 and 2, that of RFC 6962, to verify their seals. Nobody writes it any more. */
export class MerkleTreeUntil2 implements HashTree {
  readonly #platform: TapePlatform
  /** Roots of the complete subtrees, largest first. */
  readonly #roots: string[] = []
  readonly #leaf = Uint8Array.of(0, ...new Uint8Array(HASH_BYTES))
  readonly #node = Uint8Array.of(1, ...new Uint8Array(2 * HASH_BYTES))
  #count = 0

  constructor(platform: TapePlatform) {
    this.#platform = platform
  }

  add(leafHex: string): void {
    putHex(leafHex, this.#leaf, 1)
    let root = this.#platform.sha256(this.#leaf)
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
    if (root === undefined) return this.#platform.sha256('')
    for (let left = roots.pop(); left !== undefined; left = roots.pop()) {
      root = this.#join(left, root)
    }
    return root
  }

  #join(left: string, right: string): string {
    putHex(left, this.#node, 1)
    putHex(right, this.#node, 1 + HASH_BYTES)
    return this.#platform.sha256(this.#node)
  }
}

const HASH_BYTES = 32
