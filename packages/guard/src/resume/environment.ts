import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { GuardEnvironment } from '@retake/tape/format'

/**
 * Revision and branch of the repository of a folder, read from `.git`: starting git would run code
 * that a tool may have configured there.
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

/** The folder with `.git`, which in a worktree is a file. */
function findGit(folder: string): { readonly root: string; readonly gitDir: string } | undefined {
  for (let at = path.resolve(folder); ; at = path.dirname(at)) {
    const git = path.join(at, '.git')
    if (existsSync(git)) {
      if (statSync(git).isDirectory()) return { root: at, gitDir: git }
      const named = /^gitdir: (.+)$/m.exec(readFileSync(git, 'utf8'))?.[1]
      return named === undefined ? undefined : { root: at, gitDir: path.resolve(at, named.trim()) }
    }
    if (at === path.dirname(at)) return undefined
  }
}

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

/** Where a guard runs: versions and hashes, no values of variables. Read once per folder. */
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
  return {
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    retake: retakeVersions(),
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

/** The nearest lock file in the repository. */
function findLockfile(folder: string): GuardEnvironment['lockfile'] {
  try {
    const top = findGit(folder)?.root
    for (let at = path.resolve(folder); ; at = path.dirname(at)) {
      const name = LOCKFILES.find((each) => existsSync(path.join(at, each)))
      if (name !== undefined) {
        const bytes = readFileSync(path.join(at, name))
        return { name, sha256: createHash('sha256').update(bytes).digest('hex') }
      }
      if (at === top || at === path.dirname(at)) return undefined
    }
  } catch {
    return undefined
  }
}

/** This package, and the one it is built on. */
function retakeVersions(): Record<string, string> {
  const versions: Record<string, string> = {}
  for (const url of [import.meta.url, import.meta.resolve('@retake/tape')]) {
    const found = packageOf(url)
    if (found !== undefined) versions[found.name] = found.version
  }
  return versions
}

function packageOf(url: string): { name: string; version: string } | undefined {
  try {
    for (let at = path.dirname(fileURLToPath(url)); ; at = path.dirname(at)) {
      const file = path.join(at, 'package.json')
      if (existsSync(file))
        return JSON.parse(readFileSync(file, 'utf8')) as { name: string; version: string }
      if (at === path.dirname(at)) return undefined
    }
  } catch {
    return undefined
  }
}
