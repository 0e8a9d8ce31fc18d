import path from 'node:path'
import type { Stats } from 'node:fs'
import { disk } from '@retake/engine/hook'

export interface ResolvedPath {
  /** Absolute, without links as far as it exists. */
  readonly real: string
  /** Of the entry itself, links not followed; undefined if there is none. */
  readonly stats: Stats | undefined
  /** How many links were followed on the way. */
  readonly links: number
}

export interface ResolveOptions {
  /** Absolute folder that a relative path starts from; the working directory unless set. */
  readonly from?: string
  /** True if a link at the very end is followed, too; it is unless set. */
  readonly follow?: boolean
}

/** As many as Linux follows. */
const LINKS = 40

/**
 * Resolves a path like the system does, name by name. Names that do not exist are kept, also behind
 * a dangling link. Undefined if links form a circle. The result may be outdated immediately.
 */
export function resolvePath(given: string, options: ResolveOptions = {}): ResolvedPath | undefined {
  const { from = process.cwd(), follow = true } = options
  const start = path.isAbsolute(given) ? given : `${from}${path.sep}${given}`
  let { root: real } = path.parse(start)
  const left = namesOf(start.slice(real.length)).toReversed()
  let stats: Stats | undefined
  let links = 0
  for (let name = left.pop(); name !== undefined; name = left.pop()) {
    if (name === '..') {
      real = path.dirname(real)
      stats = undefined
      continue
    }
    const next = path.join(real, name)
    stats = statOf(next)
    const target = stats?.isSymbolicLink() && (follow || left.length > 0) ? read(next) : undefined
    if (target === undefined) {
      real = next
      continue
    }
    links += 1
    if (links > LINKS) return undefined
    const { root } = path.parse(target)
    if (root !== '') real = root
    left.push(...namesOf(target.slice(root.length)).toReversed())
    stats = undefined
  }
  return { real, stats: stats ?? statOf(real), links }
}

/** Stats without following links; undefined if there is no entry or it cannot be seen. */
export function statOf(location: string): Stats | undefined {
  try {
    return disk.lstatSync(location, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

const SEPARATORS = path.sep === '\\' ? /[\\/]/ : /\//

const namesOf = (text: string): string[] =>
  text.split(SEPARATORS).filter((name) => name !== '' && name !== '.')

function read(link: string): string | undefined {
  try {
    return disk.readlinkSync(link)
  } catch {
    return undefined
  }
}
