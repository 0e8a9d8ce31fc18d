import { Chain, type HashChain, SHORT_BODY_MAX_BYTES } from './chain.js'
import type { TapeDoor } from './door.js'
import { type HashTree, MerkleTree } from './merkle.js'
import { ChainUntil2 } from './past/chain-until-2.js'
import { MerkleTreeUntil2 } from './past/merkle-until-2.js'

/** How the hashes of a format are made. */
export interface Integrity {
  chain(head?: string): HashChain
  tree(): HashTree
  /** Heavy bodies longer than this are linked by their sha256, which stands in the envelope. */
  readonly shortBodyMaxBytes: number
}

export const integrityOf = (door: TapeDoor, format: number): Integrity =>
  format <= 2
    ? {
        chain: (head) => new ChainUntil2(door, head),
        tree: () => new MerkleTreeUntil2(door),
        shortBodyMaxBytes: 0,
      }
    : {
        chain: (head) => new Chain(door, head),
        tree: () => new MerkleTree(door),
        shortBodyMaxBytes: SHORT_BODY_MAX_BYTES,
      }
