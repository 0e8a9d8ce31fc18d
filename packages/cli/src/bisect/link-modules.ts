import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
} from 'node:fs'
import path from 'node:path'

const LOCK_FILES = [
  'package-lock.json',
  'npm-shrinkwrap.json',
  'pnpm-lock.yaml',
  'yarn.lock',
  'bun.lock',
  'bun.lockb',
]

/** Whether installed packages were lent to a worktree: none are installed, or other ones are locked there. */
export type LinkedModules = 'linked' | 'other lock file' | 'none'

/**
 * Lends the packages installed in the checkout to a worktree, when its lock file
 * asks for the same ones. Package by package: packages of the repository itself
 * must come from the worktree, and a build that empties `node_modules` must not
 * empty the checkout's.
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
  for (const folder of installed) {
    const modules = path.join(folder, 'node_modules')
    linkFolder({ checkout, worktree }, modules)
  }
  return 'linked'
}

/** The nearest lock file counts, from the folder up to the top. */
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

interface Roots {
  readonly checkout: string
  readonly worktree: string
}

function linkFolder(roots: Roots, folder: string): void {
  mkdirSync(path.join(roots.worktree, folder))
  for (const name of readdirSync(path.join(roots.checkout, folder))) {
    const inner = path.join(folder, name)
    // Caches and what package managers note for themselves stay where they are.
    if (name.startsWith('.') && name !== '.bin') continue
    const isFolder = lstatSync(path.join(roots.checkout, inner)).isDirectory()
    if (isFolder && (name === '.bin' || name.startsWith('@'))) linkFolder(roots, inner)
    else symlinkSync(targetOf(roots, inner), path.join(roots.worktree, inner))
  }
}

function targetOf({ checkout, worktree }: Roots, entry: string): string {
  const file = path.join(checkout, entry)
  if (!lstatSync(file).isSymbolicLink()) return file
  const target = path.resolve(path.dirname(file), readlinkSync(file))
  const inside = path.relative(checkout, target)
  const isOwn = !inside.startsWith('..') && !inside.split(path.sep).includes('node_modules')
  return isOwn ? path.join(worktree, inside) : target
}

function read(file: string): Buffer | undefined {
  try {
    return readFileSync(file)
  } catch {
    return undefined
  }
}
