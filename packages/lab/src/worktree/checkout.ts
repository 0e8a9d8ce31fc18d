import { attempt } from '@retake/tape/format'
import path from 'node:path'
import type { GitRepository } from './git-repository.js'
import { randomBytes } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'

const LOCK_FILES = [
  'package-lock.json',
  'npm-shrinkwrap.json',
  'pnpm-lock.yaml',
  'yarn.lock',
  'bun.lock',
  'bun.lockb',
]

/** Result of linking installed packages into a worktree. */
type LinkedModules = 'linked' | 'other lock file' | 'none'

/**
 * Links the packages installed in the checkout into a worktree with the same lock file. Links
 * package by package, because packages of the repository itself must come from the worktree, and a
 * build that empties `node_modules` must not empty the checkout's.
 */
export function linkModules(
  checkout: string,
  worktree: string,
  manifests: readonly string[],
): LinkedModules {
  const folders = ['.', ...manifests.map((file) => path.dirname(file))]
  const installed = [...new Set(folders)].filter(
    (folder) =>
      existsSync(path.join(checkout, folder, 'node_modules')) &&
      existsSync(path.join(worktree, folder)) &&
      !existsSync(path.join(worktree, folder, 'node_modules')),
  )
  if (installed.length === 0) return 'none'
  if (!installed.every((folder) => hasSameLock(checkout, worktree, folder)))
    return 'other lock file'
  for (const folder of installed) linkFolder(checkout, worktree, path.join(folder, 'node_modules'))
  return 'linked'
}

/** Compares the nearest lock files, from the folder up to the top. */
function hasSameLock(checkout: string, worktree: string, folder: string): boolean {
  for (let at = folder; ; at = path.dirname(at)) {
    for (const name of LOCK_FILES) {
      const before = read(path.join(checkout, at, name))
      const now = read(path.join(worktree, at, name))
      if (before !== undefined || now !== undefined)
        return before !== undefined && now !== undefined && before.equals(now)
    }
    if (at === '.') return true
  }
}

function linkFolder(checkout: string, worktree: string, folder: string): void {
  mkdirSync(path.join(worktree, folder))
  for (const name of readdirSync(path.join(checkout, folder))) {
    const inner = path.join(folder, name)
    // Skips caches and files of package managers.
    if (name.startsWith('.') && name !== '.bin') continue
    const isFolder = lstatSync(path.join(checkout, inner)).isDirectory()
    if (isFolder && (name === '.bin' || name.startsWith('@'))) linkFolder(checkout, worktree, inner)
    else symlinkSync(targetOf(checkout, worktree, inner), path.join(worktree, inner))
  }
}

function targetOf(checkout: string, worktree: string, entry: string): string {
  const file = path.join(checkout, entry)
  if (!lstatSync(file).isSymbolicLink()) return file
  const target = path.resolve(path.dirname(file), readlinkSync(file))
  const inside = path.relative(checkout, target)
  const isOwn = !inside.startsWith('..') && !inside.split(path.sep).includes('node_modules')
  return isOwn ? path.join(worktree, inside) : target
}

const read = (file: string): Buffer | undefined => attempt(() => readFileSync(file))

const RANDOM_MIN = 8
const RANDOM_MAX = 64

/**
 * A new folder whose path has the same length as the repository's, if possible, so that text with
 * paths in it keeps its length and line breaks.
 */
export function makeTwinFolder(top: string): string {
  const length = Buffer.byteLength(top)
  const parents = [tmpdir(), '/tmp'].map(realOrNothing).filter((parent) => parent !== '')
  const free = (parent: string): number => length - Buffer.byteLength(parent) - 1
  const fitting = parents.find((parent) => free(parent) >= RANDOM_MIN)
  const parent = fitting ?? parents[0] ?? '.'
  const wanted = fitting === undefined ? RANDOM_MIN : free(fitting)
  const random = randomBytes(RANDOM_MAX).toString('hex').slice(0, Math.min(wanted, 12))
  const folder = path.join(
    parent,
    `retake-twin-${'-'.repeat(200)}`.slice(0, wanted - random.length) + random,
  )
  mkdirSync(folder, { mode: 0o700 })
  return folder
}

const realOrNothing = (folder: string): string => attempt(() => realpathSync(folder), '')

/** Checks out a commit in a temporary folder, with the checkout's modules linked in. */
export async function withCheckout<T>(
  repository: GitRepository,
  commit: string,
  use: (folder: string, modules: LinkedModules) => Promise<T>,
): Promise<T> {
  const folder = makeTwinFolder(repository.top)
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  try {
    await repository.addWorktree(folder, commit)
    const manifests = ['ls-files', '-z', '--', ':(glob)**/package.json']
    const list = await repository.run('-C', folder, ...manifests)
    const modules = linkModules(repository.top, folder, list.split('\0').filter(Boolean))
    return await use(folder, modules)
  } finally {
    if (!(await repository.removeWorktree(folder))) {
      remove()
      await repository.removeWorktree(folder)
    }
    remove()
  }
}
