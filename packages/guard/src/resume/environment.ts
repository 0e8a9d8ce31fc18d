import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { GuardEnvironment } from '@retake/tape/guards'
import { foldersAbove } from '@retake/runner/sandbox'

/**
 * Revision and branch of a folder's repository. Reads `.git` itself, because git would run code that
 * a tool may have configured there.
 */
export function gitState(folder: string): GuardEnvironment['git'] {
  try {
    const found = findGit(folder)
    if (found === undefined) return undefined
    const { gitDir } = found
    const head = readFileSync(path.join(gitDir, 'HEAD'), 'utf8').trim()
    const ref = /^ref: (.+)$/.exec(head)?.[1]
    const revision = ref === undefined ? head : resolveRef(gitDir, commonDir(gitDir), ref)
    if (revision === undefined || !/^[\da-f]{40,64}$/.test(revision)) return undefined
    return {
      revision,
      ...(ref?.startsWith('refs/heads/') === true && { branch: ref.slice('refs/heads/'.length) }),
    }
  } catch {
    return undefined
  }
}

/** Finds `.git`, which is a file in a worktree. */
function findGit(folder: string): { readonly root: string; readonly gitDir: string } | undefined {
  const root = upwards(folder).find((each) => existsSync(path.join(each, '.git')))
  if (root === undefined) return undefined
  const git = path.join(root, '.git')
  if (statSync(git).isDirectory()) return { root, gitDir: git }
  const named = /^gitdir: (.+)$/m.exec(readFileSync(git, 'utf8'))?.[1]
  return named === undefined ? undefined : { root, gitDir: path.resolve(root, named.trim()) }
}

const upwards = (folder: string): string[] => [
  path.resolve(folder),
  ...foldersAbove(path.resolve(folder)),
]

function commonDir(gitDir: string): string {
  const file = path.join(gitDir, 'commondir')
  return existsSync(file) ? path.resolve(gitDir, readFileSync(file, 'utf8').trim()) : gitDir
}

function resolveRef(gitDir: string, common: string, ref: string): string | undefined {
  for (const dir of [gitDir, common]) {
    const file = path.join(dir, ref)
    if (existsSync(file)) return readFileSync(file, 'utf8').trim()
  }
  const packed = path.join(common, 'packed-refs')
  if (!existsSync(packed)) return undefined
  const line = readFileSync(packed, 'utf8')
    .split('\n')
    .find((each) => each.endsWith(` ${ref}`))
  return line?.split(' ')[0]
}

const taken = new Map<string, GuardEnvironment>()

/** Versions and hashes of the environment; no values of variables. Read once per folder. */
export function environment(folder = workingFolder()): GuardEnvironment {
  let found = taken.get(folder)
  if (found === undefined) taken.set(folder, (found = look(folder)))
  return found
}

/** The working directory may have been removed. */
function workingFolder(): string {
  try {
    return process.cwd()
  } catch {
    return path.parse(process.execPath).root
  }
}

function look(folder: string): GuardEnvironment {
  const git = gitState(folder)
  const lockfile = findLockfile(folder)
  // Versions of this package and of the engine.
  const versions: Record<string, string> = {}
  for (const url of [import.meta.url, import.meta.resolve('@retake/tape')]) {
    const found = packageOf(url)
    if (found !== undefined) versions[found.name] = found.version
  }
  return {
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    retake: versions,
    ...(git && { git }),
    ...(lockfile && { lockfile }),
  }
}

const LOCKFILES = [
  'package-lock.json',
  'npm-shrinkwrap.json',
  'pnpm-lock.yaml',
  'yarn.lock',
  'bun.lock',
  'bun.lockb',
]

function findLockfile(folder: string): GuardEnvironment['lockfile'] {
  try {
    const top = findGit(folder)?.root
    for (const at of upwards(folder)) {
      const name = LOCKFILES.find((each) => existsSync(path.join(at, each)))
      if (name !== undefined) {
        const bytes = readFileSync(path.join(at, name))
        return { name, sha256: createHash('sha256').update(bytes).digest('hex') }
      }
      if (at === top) return undefined
    }
  } catch {
    // The lockfile cannot be read.
  }
  return undefined
}

function packageOf(url: string): { name: string; version: string } | undefined {
  try {
    const file = foldersAbove(fileURLToPath(url))
      .map((each) => path.join(each, 'package.json'))
      .find((each) => existsSync(each))
    return file === undefined
      ? undefined
      : (JSON.parse(readFileSync(file, 'utf8')) as { name: string; version: string })
  } catch {
    return undefined
  }
}
