import { execFileSync } from 'node:child_process'
import zlib from 'node:zlib'
import { findNode } from '../../scripts/find-node.mjs'

/**
 * A Node that has zstd: this one, or a newer one from the package registry.
 *
 * @returns {Promise<{ path?: string, reason?: string }>} `reason` when there is none.
 */
export async function findNodeWithZstd() {
  if ('createZstdCompress' in zlib) return { path: process.execPath }
  try {
    const path = await findNode('22')
    const answer = execFileSync(path, ['-p', `'createZstdCompress' in zlib`], { encoding: 'utf8' })
    if (answer.trim() === 'true') return { path }
    return { reason: `${path} has no zstd` }
  } catch (error) {
    return { reason: `no Node with zstd (22.15 or newer): ${String(error.message).split('\n')[0]}` }
  }
}
