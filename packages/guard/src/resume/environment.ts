import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { GuardEnvironment } from '@retake/tape/format'
import { findGit, gitState } from './git-state.js'

const taken = new Map<string, GuardEnvironment>()

/**
 * Where a guard runs, for those who look at its tape later: versions and digests, no
 * values of variables. Taken once for a folder and process, since the code that runs
 * is the one that was loaded.
 */
export function environment(folder = workingFolder()): GuardEnvironment {
  let found = taken.get(folder)
  if (found === undefined) taken.set(folder, (found = look(folder)))
  return found
}

/** One that was removed has no name any more. */
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

/** The nearest one, not looked for outside of the repository. */
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
