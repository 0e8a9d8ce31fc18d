import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { GuardEnvironment } from '@retake/tape/guards'
import { attempt } from '@retake/tape/format'
import { foldersAbove } from '@retake/runner/sandbox'

/**
 * Revision and branch of a folder's repository. Reads `.git` itself, because git would run code that
 * a tool may have configured there.
 */
export const gitState = (folder: string): GuardEnvironment['git'] =>
  attempt(() => {
    const found = findGit(folder)
    if (found === undefined) return undefined
    const { gitDir } = found
    const head = readFileSync(path.join(gitDir, 'HEAD'), 'utf8').trim()
    const ref = /^ref: (.+)$/.exec(head)?.[1]
    const revision = ref === undefined ? head : resolveRef(gitDir, ref)
    if (revision === undefined || !/^[\da-f]{40,64}$/.test(revision)) return undefined
    return {
      revision,
      ...(ref?.startsWith('refs/heads/') === true && { branch: ref.slice('refs/heads/'.length) }),
    }
  })

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

function resolveRef(gitDir: string, ref: string): string | undefined {
  const link = path.join(gitDir, 'commondir')
  const common = existsSync(link) ? path.resolve(gitDir, readFileSync(link, 'utf8').trim()) : gitDir
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
export function environment(
  // The working directory may have been removed.
  folder = attempt(() => process.cwd(), path.parse(process.execPath).root),
): GuardEnvironment {
  const known = taken.get(folder)
  if (known !== undefined) return known
  const git = gitState(folder)
  const lockfile = findLockfile(folder)
  // Versions of this package and of the engine.
  const retake: Record<string, string> = {}
  for (const url of [import.meta.url, import.meta.resolve('@retake/tape')])
    attempt(() => {
      const file = foldersAbove(fileURLToPath(url))
        .map((each) => path.join(each, 'package.json'))
        .find((each) => existsSync(each))
      if (file === undefined) return
      const found = JSON.parse(readFileSync(file, 'utf8')) as { name: string; version: string }
      retake[found.name] = found.version
    })
  const state: GuardEnvironment = {
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    retake,
    ...(git && { git }),
    ...(lockfile && { lockfile }),
  }
  taken.set(folder, state)
  return state
}

const LOCKFILES = [
  'package-lock.json',
  'npm-shrinkwrap.json',
  'pnpm-lock.yaml',
  'yarn.lock',
  'bun.lock',
  'bun.lockb',
]

/** Undefined if there is none, or if it cannot be read. */
const findLockfile = (folder: string): GuardEnvironment['lockfile'] =>
  attempt(() => {
    const top = findGit(folder)?.root
    for (const at of upwards(folder)) {
      const name = LOCKFILES.find((each) => existsSync(path.join(at, each)))
      if (name !== undefined) {
        const bytes = readFileSync(path.join(at, name))
        return { name, sha256: createHash('sha256').update(bytes).digest('hex') }
      }
      if (at === top) return undefined
    }
    return undefined
  })
