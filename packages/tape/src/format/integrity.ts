import { Chain, type HashChain, SHORT_BODY_MAX_BYTES } from './chain.js'
import { invariant } from './errors.js'
import { type HashTree, MerkleTree, putHex } from './merkle.js'
import type { Sha256, TapePlatform } from './platform.js'

export interface Integrity {
  chain(head?: string): HashChain
  tree(): HashTree
  /** Longer bodies of heavy events are linked by their sha256, which is in the envelope. */
  readonly shortBodyMaxBytes: number
}

export const integrityOf = (platform: TapePlatform, format: number): Integrity =>
  format <= 2
    ? {
        chain: (head) => new LegacyChain(platform, head),
        tree: () => new LegacyMerkleTree(platform),
        shortBodyMaxBytes: 0,
      }
    : {
        chain: (head) => new Chain(platform, head),
        tree: () => new MerkleTree(platform),
        shortBodyMaxBytes: SHORT_BODY_MAX_BYTES,
      }

/** The RFC 6962 tree of formats 1 and 2, used only to verify their seals. */
export class LegacyMerkleTree implements HashTree {
  /** Roots of the complete subtrees, largest first. */
  readonly #roots: string[] = []
  readonly #leaf = Uint8Array.of(0, ...new Uint8Array(HASH_BYTES))
  readonly #node = Uint8Array.of(1, ...new Uint8Array(2 * HASH_BYTES))
  #count = 0

  constructor(private readonly platform: TapePlatform) {}

  add(leafHex: string): void {
    putHex(leafHex, this.#leaf, 1)
    let root = this.platform.sha256(this.#leaf)
    for (let n = this.#count; n % 2 === 1; n = (n - 1) / 2) {
      root = this.#join(this.#roots.pop() ?? '', root)
    }
    this.#roots.push(root)
    this.#count++
  }

  root(): string {
    const roots = [...this.#roots]
    let root = roots.pop()
    if (root === undefined) return this.platform.sha256('')
    for (let left = roots.pop(); left !== undefined; left = roots.pop()) {
      root = this.#join(left, root)
    }
    return root
  }

  #join(left: string, right: string): string {
    putHex(left, this.#node, 1)
    putHex(right, this.#node, 1 + HASH_BYTES)
    return this.platform.sha256(this.#node)
  }
}

const HASH_BYTES = 32

/**
 * The hash chain of formats 1 and 2, used only to verify their tapes and identify positions on
 * them. Bodies, and the light events before a heavy one, were hashed separately first.
 */
class LegacyChain implements HashChain {
  #lights: Sha256 | undefined
  #lightsHex: string | undefined

  constructor(
    private readonly platform: TapePlatform,
    public head = '',
  ) {}

  addLight(text: Uint8Array, body: Uint8Array): void {
    invariant(this.#lightsHex === undefined, 'a light event came after its digest was taken')
    this.#lights ??= this.platform.createSha256()
    this.#lights.update(text)
    this.#lights.update(`\n${body.length}\n`)
    this.#lights.update(body)
  }

  addHeavy(text: Uint8Array, size: number, body: Uint8Array | string): string {
    const link = this.platform.createSha256()
    link.update(`${this.head}\n${this.lightsDigest()}\n`)
    link.update(text)
    link.update(`\n${size}\n${typeof body === 'string' ? body : ''}`)
    this.head = link.hex()
    this.#lights = undefined
    this.#lightsHex = undefined
    return this.head
  }

  lightsDigest(): string {
    this.#lightsHex ??= this.#lights?.hex() ?? ''
    return this.#lightsHex
  }

  digest(): string {
    const lights = this.lightsDigest()
    return lights === '' ? this.head : this.platform.sha256(`${this.head}\n${lights}`)
  }
}
