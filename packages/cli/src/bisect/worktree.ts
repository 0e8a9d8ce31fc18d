import { randomBytes } from 'node:crypto'
import { mkdirSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { GitRepository } from './git-repository.js'

/** Checks a commit out in a temporary folder, lets `use` work there, and removes it whatever happens. */
export async function withWorktree<T>(
  repository: GitRepository,
  commit: string,
  use: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = makeFolder(repository.top)
  try {
    await repository.addWorktree(folder, commit)
    return await use(folder)
  } finally {
    if (!(await repository.removeWorktree(folder))) {
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
      await repository.removeWorktree(folder)
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

const RANDOM_MIN = 8
const RANDOM_MAX = 64

/**
 * A new folder, where possible with a path exactly as long as the repository's:
 * whatever counts or wraps text with a path in it then comes to the same.
 */
function makeFolder(top: string): string {
  const length = Buffer.byteLength(top)
  const parents = [tmpdir(), '/tmp'].map(realOrNothing).filter((parent) => parent !== '')
  const free = (parent: string): number => length - Buffer.byteLength(parent) - 1
  const fitting = parents.find((parent) => free(parent) >= RANDOM_MIN)
  const parent = fitting ?? parents[0] ?? '.'
  const wanted = fitting === undefined ? RANDOM_MIN : free(fitting)
  const random = randomBytes(RANDOM_MAX).toString('hex').slice(0, Math.min(wanted, 12))
  const folder = path.join(
    parent,
    `retake-bisect-${'-'.repeat(200)}`.slice(0, wanted - random.length) + random,
  )
  mkdirSync(folder, { mode: 0o700 })
  return folder
}

function realOrNothing(folder: string): string {
  try {
    return realpathSync(folder)
  } catch {
    return ''
  }
}
