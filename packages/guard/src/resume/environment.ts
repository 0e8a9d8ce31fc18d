import { createHash } from 'node:crypto'
import { existsSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { disk } from '@retake/engine/hook'
import type { GuardEnvironment } from '@retake/tape/format'
import { inflateSync } from 'node:zlib'

/** A file that git tracks, as its index has it. */
interface IndexEntry {
  readonly name: string
  readonly mode: number
  readonly seconds: number
  readonly nanos: number
  readonly size: number
  readonly hash: string
  /** Not in the working tree, or assumed unchanged. */
  readonly isElsewhere: boolean
}

interface GitIndex {
  readonly entries: readonly IndexEntry[]
  /** Hash of the tree of the index, if git has cached it. */
  readonly tree: string | undefined
}

const HASH = 20
const FIXED = 40 + HASH + 2

/** Reads an index of version 2 or 3 with sha1 names; undefined for others. */
function readGitIndex(bytes: Buffer): GitIndex | undefined {
  const version = bytes.readUInt32BE(4)
  if (bytes.toString('latin1', 0, 4) !== 'DIRC' || (version !== 2 && version !== 3))
    return undefined
  const entries: IndexEntry[] = []
  let at = 12
  for (let left = bytes.readUInt32BE(8); left > 0; left -= 1) {
    const flags = bytes.readUInt16BE(at + 40 + HASH)
    const isExtended = (flags & 0x4000) !== 0
    const start = at + FIXED + (isExtended ? 2 : 0)
    const end = bytes.indexOf(0, start)
    const more = isExtended ? bytes.readUInt16BE(at + FIXED) : 0
    entries.push({
      seconds: bytes.readUInt32BE(at + 8),
      nanos: bytes.readUInt32BE(at + 12),
      mode: bytes.readUInt32BE(at + 24),
      size: bytes.readUInt32BE(at + 36),
      hash: bytes.toString('hex', at + 40, at + 40 + HASH),
      name: bytes.toString('utf8', start, end),
      isElsewhere: (more & 0x4000) !== 0 || (flags & 0x8000) !== 0,
    })
    // Padded with one to eight zeros to a multiple of eight.
    at += (end - at + 8) & ~7
  }
  return { entries, tree: cachedTree(bytes, at) }
}

/** The root of the extension `TREE`: an empty name, a count and a hash. */
function cachedTree(bytes: Buffer, from: number): string | undefined {
  for (let at = from; at + 8 <= bytes.length - HASH;) {
    const size = bytes.readUInt32BE(at + 4)
    if (bytes.toString('latin1', at, at + 4) === 'TREE') {
      const line = bytes.indexOf(0x0a, at + 9)
      const count = Number(bytes.toString('latin1', at + 9, line).split(' ')[0])
      return count < 0 ? undefined : bytes.toString('hex', line + 1, line + 1 + HASH)
    }
    at += 8 + size
  }
  return undefined
}

/** With more files, `dirty` is unknown. */
const FILES_MAX = 20_000

/**
 * Revision, branch and state of the repository of a folder, read from `.git`: starting git would run
 * code that a tool may have configured there. Untracked files are ignored. `dirty` may be unknown.
 */
export function gitState(folder: string): GuardEnvironment['git'] {
  try {
    const found = findGit(folder)
    if (found === undefined) return undefined
    const { root, gitDir } = found
    const head = readFileSync(path.join(gitDir, 'HEAD'), 'utf8').trim()
    const ref = /^ref: (.+)$/.exec(head)?.[1]
    const common = commonDir(gitDir)
    const revision = ref === undefined ? head : resolveRef(gitDir, common, ref)
    if (revision === undefined || !/^[\da-f]{40,64}$/.test(revision)) return undefined
    const dirty = isDirty(root, gitDir, common, revision)
    return {
      revision,
      ...(ref?.startsWith('refs/heads/') === true && { branch: ref.slice('refs/heads/'.length) }),
      ...(dirty !== undefined && { dirty }),
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

function isDirty(
  root: string,
  gitDir: string,
  common: string,
  revision: string,
): boolean | undefined {
  const file = path.join(gitDir, 'index')
  if (!existsSync(file)) return undefined
  const index = readGitIndex(readFileSync(file))
  if (index === undefined || index.entries.length > FILES_MAX) return undefined
  if (index.entries.some((entry) => differs(root, entry))) return true
  const tree = treeOf(common, revision)
  // Staged changes are only known if both trees are.
  return tree === undefined || index.tree === undefined ? undefined : tree !== index.tree
}

function differs(root: string, entry: IndexEntry): boolean {
  const file = path.join(root, entry.name)
  const isLink = entry.mode === 0o120000
  // Ignores submodules, and files that are not checked out.
  if (entry.mode === 0o160000 || entry.isElsewhere) return false
  try {
    const found = disk.lstatSync(file, { bigint: true })
    const sameTime =
      found.mtimeNs / 1_000_000_000n === BigInt(entry.seconds) &&
      (entry.nanos === 0 || found.mtimeNs % 1_000_000_000n === BigInt(entry.nanos))
    if (sameTime && Number(found.size & 0xffffffffn) === entry.size) return false
    if (isLink !== found.isSymbolicLink()) return true
    const content = isLink ? Buffer.from(readlinkSync(file)) : readFileSync(file)
    return blobHash(content, entry.hash.length) !== entry.hash
  } catch {
    return true
  }
}

const blobHash = (content: Uint8Array, length: number): string =>
  createHash(length === 40 ? 'sha1' : 'sha256')
    .update(`blob ${content.length}\0`)
    .update(content)
    .digest('hex')

/** The tree of a commit; undefined if it is packed. */
function treeOf(common: string, revision: string): string | undefined {
  const file = path.join(common, 'objects', revision.slice(0, 2), revision.slice(2))
  if (!existsSync(file)) return undefined
  const text = inflateSync(readFileSync(file)).toString('latin1')
  return /\0tree ([\da-f]+)\n/.exec(text)?.[1]
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
