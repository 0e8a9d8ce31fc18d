/** A file that git tracks, as its index has it. */
export interface IndexEntry {
  readonly name: string
  readonly mode: number
  readonly seconds: number
  readonly nanos: number
  readonly size: number
  readonly hash: string
  /** Left out of the working tree on purpose, or promised never to change. */
  readonly isElsewhere: boolean
}

export interface GitIndex {
  readonly entries: readonly IndexEntry[]
  /** Hash of the tree that the index stands for, where git has kept it. */
  readonly tree: string | undefined
}

const HASH = 20
const FIXED = 40 + HASH + 2

/** Reads an index of version 2 or 3 with sha1 names; undefined for others. */
export function readGitIndex(bytes: Buffer): GitIndex | undefined {
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

/** The root of the extension `TREE`: an empty name, a count that is not negative, and a hash. */
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
