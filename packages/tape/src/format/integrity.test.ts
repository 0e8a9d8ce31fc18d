import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { nodePlatform } from '../node/node-platform.js'
import { LegacyMerkleTree } from './integrity.js'

const sha = (...parts: readonly Uint8Array[]): Buffer =>
  createHash('sha256').update(Buffer.concat(parts)).digest()

/** RFC 6962, section 2.1, as it is written there. */
function treeHash(leaves: readonly Buffer[]): Buffer {
  const [only] = leaves
  if (only === undefined) return sha()
  if (leaves.length === 1) return sha(Buffer.of(0), only)
  let split = 1
  while (split * 2 < leaves.length) split *= 2
  return sha(Buffer.of(1), treeHash(leaves.slice(0, split)), treeHash(leaves.slice(split)))
}

test('the root is the one of RFC 6962 for every number of leaves', () => {
  const tree = new LegacyMerkleTree(nodePlatform)
  const leaves: Buffer[] = []
  for (let count = 0; count < 70; count++) {
    expect(tree.root()).toBe(treeHash(leaves).toString('hex'))
    const leaf = sha(Buffer.of(count))
    leaves.push(leaf)
    tree.add(leaf.toString('hex'))
  }
})
