import { createHash } from 'node:crypto'
import { existsSync, lstatSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import path from 'node:path'
import { inflateSync } from 'node:zlib'
import type { GuardEnvironment } from '@retake/tape'
import { readGitIndex, type IndexEntry } from './git-index.js'

/** More files than this are not looked at: whether one was changed is then not known. */
const FILES_MAX = 20_000

/**
 * Revision and branch of the repository a folder is in, and whether tracked files
 * differ from it, read from `.git` without starting a program. Files that git does
 * not track are not looked at. `dirty` is missing where it cannot be told.
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

/** The folder with `.git`, which in a worktree is a file that names the real one. */
export function findGit(
  folder: string,
): { readonly root: string; readonly gitDir: string } | undefined {
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
  // Whether the index itself differs is only known where both trees are.
  return tree === undefined || index.tree === undefined ? undefined : tree !== index.tree
}

function differs(root: string, entry: IndexEntry): boolean {
  const file = path.join(root, entry.name)
  const isLink = entry.mode === 0o120000
  // A submodule is a repository of its own; so is a file that is not checked out here.
  if (entry.mode === 0o160000 || entry.isElsewhere) return false
  try {
    const found = lstatSync(file, { bigint: true })
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

/** The tree of a commit that is not packed; undefined where it is. */
function treeOf(common: string, revision: string): string | undefined {
  const file = path.join(common, 'objects', revision.slice(0, 2), revision.slice(2))
  if (!existsSync(file)) return undefined
  const text = inflateSync(readFileSync(file)).toString('latin1')
  return /\0tree ([\da-f]+)\n/.exec(text)?.[1]
}
