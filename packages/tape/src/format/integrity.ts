import { Chain, type HashChain, SHORT_BODY_MAX_BYTES } from './chain.js'
import type { TapePlatform } from './platform.js'
import { type HashTree, MerkleTree } from './merkle.js'
import { ChainUntil2, MerkleTreeUntil2 } from './past-until-2.js'

export interface Integrity {
  chain(head?: string): HashChain
  tree(): HashTree
  /** Longer bodies of heavy events are linked by their sha256, which is in the envelope. */
  readonly shortBodyMaxBytes: number
}

export const integrityOf = (platform: TapePlatform, format: number): Integrity =>
  format <= 2
    ? {
        chain: (head) => new ChainUntil2(platform, head),
        tree: () => new MerkleTreeUntil2(platform),
        shortBodyMaxBytes: 0,
      }
    : {
        chain: (head) => new Chain(platform, head),
        tree: () => new MerkleTree(platform),
        shortBodyMaxBytes: SHORT_BODY_MAX_BYTES,
      }
