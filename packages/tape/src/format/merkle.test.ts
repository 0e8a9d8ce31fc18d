import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { MerkleTree } from './merkle.js'
import { nodePlatform } from '../node/node-platform.js'

const sha = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest()

/** Level by level, as docs/tape-format.md describes it. */
function treeHash(hashes: readonly Buffer[]): Buffer {
  const [first] = hashes
  if (first === undefined) return sha(new Uint8Array(0))
  if (hashes.length === 1) return first
  const groups = Math.ceil(hashes.length / 16)
  return treeHash(
    Array.from({ length: groups }, (_, i) => sha(Buffer.concat(hashes.slice(16 * i, 16 * i + 16)))),
  )
}

test('the root is the described one for every number of leaves', () => {
  const tree = new MerkleTree(nodePlatform)
  const leaves: Buffer[] = []
  for (let count = 0; count < 600; count++) {
    expect(tree.root()).toBe(treeHash(leaves).toString('hex'))
    const leaf = sha(Buffer.from(`leaf ${count}`))
    leaves.push(leaf)
    tree.add(leaf.toString('hex'))
  }
})
