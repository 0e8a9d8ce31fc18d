import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { attempt } from '@retake/tape/format'
import type { Denial } from '../denials/guard-error.js'
import { fileDenial, type FileDenialCode } from '../denials/scope-denials.js'
import { FileRoots, type ResolvedPath, resolvePath, statOf } from '@retake/runner/sandbox'
import type { FileAccess, FileScope } from './scopes.js'

/**
 * A compiled file scope. `check` is called by boundaries and follows every link. `inspect` checks
 * arguments before a tool starts and ignores anything that may be ordinary text.
 */
export function fileBounds(policy: string, scope: FileScope) {
  const read = scope.read && new FileRoots(scope.read)
  const isSame = JSON.stringify(scope.read) === JSON.stringify(scope.write)
  const write = isSame ? read : scope.write && new FileRoots(scope.write)
  const rootsFor = (access: FileAccess): FileRoots | undefined =>
    access === 'read' ? read : access === 'write' ? write : (read ?? write)
  // If all files may be read or all may be written, a path in the arguments proves nothing.
  const inspector = read && write && new PathInspector(read, write)
  return {
    /** Folders for a sandbox to mount. */
    roots: { read, write },
    check(how: FileAccess, given: string): Denial | undefined {
      const access = how === 'look' ? 'read' : how
      const roots = rootsFor(access)
      if (roots === undefined) return undefined
      // Many packages stat the folders above their working directory.
      if (how === 'look' && roots.isAtOrAbove(resolvePath(given)?.real ?? '')) return undefined
      const code = refusalOf(access, given, roots, access === 'read' ? write : read)
      return code && fileDenial(policy, code, { path: given, access }, roots.names)
    },
    /** Checks one string of the arguments. */
    inspect(text: string, at: string): Denial | undefined {
      const code = inspector?.inspect(text)
      if (code === undefined || read === undefined) return undefined
      return fileDenial(policy, code, { path: text, access: 'read', argument: at }, read.names)
    },
  }
}

export type FileBounds = ReturnType<typeof fileBounds>

function refusalOf(
  access: FileAccess,
  given: string,
  roots: FileRoots,
  others: FileRoots | undefined,
): FileDenialCode | undefined {
  if (access === 'enter') return 'PATH_CHDIR'
  if (access === 'unseen') return 'PATH_UNSEEN'
  if (access === 'changed') return 'PATH_CHANGED'
  const notAllowed = access === 'read' ? 'READ_NOT_ALLOWED' : 'WRITE_NOT_ALLOWED'
  if (roots.isEmpty) return notAllowed
  if (given.includes('\0')) return 'PATH_NULL_BYTE'
  // Paths to another machine, a device or a stream, and paths that Windows would rewrite.
  if (process.platform === 'win32') {
    if (/^[\\/]{2}[^\\/]/.test(given)) return 'PATH_UNC'
    if (WINDOWS_DEVICE.test(given)) return 'PATH_DEVICE'
    if (/:/.test(given.replace(/^[A-Za-z]:/, ''))) return 'PATH_STREAM'
    if (/(?:^|[\\/])[^\\/]*[^\\/. ][. ]+(?:[\\/]|$)/.test(given)) return 'PATH_TRAILING'
  }
  const named = path.resolve(given)
  // Checked before links are followed, because `/proc/self/cwd` leads back inside.
  if (isDevicePath(named) && !roots.name(named)) return 'PATH_DEVICE'
  const location = resolvePath(given)
  if (location === undefined) return 'PATH_SYMLINK_LOOP'
  const { real, stats, links } = location
  if (roots.contains(real)) {
    // Opening a named pipe can block a thread of this process forever.
    const isDevice = stats?.isBlockDevice() || stats?.isCharacterDevice() || stats?.isFIFO()
    return isDevice === true && !isDevicePath(real) ? 'PATH_DEVICE' : undefined
  }
  if (links > 0 && roots.name(named)) return 'PATH_SYMLINK_ESCAPE'
  if (climbs(given)) return 'PATH_TRAVERSAL'
  if (others?.contains(real) === true) return notAllowed
  return isDevicePath(real) ? 'PATH_DEVICE' : 'PATH_OUTSIDE_ROOT'
}

/** Windows device names, which exist in every folder and with every extension. */
const WINDOWS_DEVICE = /(?:^|[\\/])(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:[.: ][^\\/]*)?$/i

const isDevicePath = (absolute: string): boolean => /^\/(?:dev|proc|sys)(?:\/|$)/.test(absolute)

const climbs = (text: string): boolean => /(?:^|[\\/])\.\.(?:[\\/]|$)/.test(text)

/** No path is longer. */
const PATH_LENGTH_MAX = 4096

/**
 * Finds arguments that are paths outside the allowed folders. May miss one, because the boundary
 * checks again, but must not mistake ordinary text for a path. Ambiguous text is refused only if
 * the path exists or contains a link that leads out.
 */
class PathInspector {
  readonly #lists: readonly FileRoots[]

  /** An argument may be read or written, so either list may allow it. */
  constructor(...lists: readonly FileRoots[]) {
    this.#lists = [...new Set(lists)]
  }

  inspect(given: string): FileDenialCode | undefined {
    if (given.length > PATH_LENGTH_MAX) return undefined
    const text = given.trim()
    // Multi-line text, markup, quoted text, and URLs other than `file:`.
    if (
      text === '' ||
      /[\p{Cc}"<>|*`]|\]\(/u.test(text) ||
      (/^[a-z][a-z\d+.-]+:/i.test(text) && !/^file:/i.test(text))
    )
      return undefined
    if (/^file:/i.test(text)) {
      const location = attempt(() => fileURLToPath(text))
      if (location === undefined) return undefined
      return /^file:\//i.test(text) ? this.#refusal(location, resolvePath(location)) : undefined
    }
    const slashed = text.replaceAll('\\', '/')
    if (path.isAbsolute(slashed)) return this.#judgeAbsolute(slashed)
    return climbs(slashed) ? this.#judgeClimbing(slashed) : this.#judgeRelative(slashed)
  }

  /** URL paths also start with a slash, so the path or its folder must exist. */
  #judgeAbsolute(text: string): FileDenialCode | undefined {
    const named = path.resolve(text)
    const names = named.split('/').length - 1
    if (named === path.parse(named).root) return climbs(text) ? 'PATH_TRAVERSAL' : undefined
    const refused = this.#refusal(text, resolvePath(text))
    if (refused !== 'PATH_OUTSIDE_ROOT') return refused
    if (climbs(text) && !/\s/.test(text)) return 'PATH_TRAVERSAL'
    if (statOf(named) !== undefined) return names > 1 ? refused : undefined
    if (/\s/.test(text) || statOf(path.dirname(named)) === undefined || names < 2) return undefined
    return names > 2 || path.extname(named) !== '' ? refused : undefined
  }

  /** Refused only if it leads out of every folder that it may be relative to. */
  #judgeClimbing(text: string): FileDenialCode | undefined {
    const bases = [process.cwd(), ...this.#folders()]
    const locations = bases.map((from) => resolvePath(text, { from }))
    if (locations.some((location) => location !== undefined && this.#contains(location.real)))
      return undefined
    const isText = /\s/.test(text) && locations.every((location) => location?.stats === undefined)
    return isText ? undefined : 'PATH_TRAVERSAL'
  }

  /** A relative path is refused only if it exists and a link in it leads out. */
  #judgeRelative(text: string): FileDenialCode | undefined {
    const bases = this.#folders()
    const cwd = process.cwd()
    if (this.#contains(cwd)) bases.push(cwd)
    const [first = ''] = text.split('/', 1)
    for (const from of new Set(bases)) {
      if (statOf(path.join(from, first)) === undefined) continue
      const location = resolvePath(text, { from })
      if (location === undefined) return 'PATH_SYMLINK_LOOP'
      if (location.links > 0 && !this.#contains(location.real)) return 'PATH_SYMLINK_ESCAPE'
    }
    return undefined
  }

  #refusal(text: string, location: ResolvedPath | undefined): FileDenialCode | undefined {
    const named = path.resolve(text)
    const isNamed = this.#lists.some((roots) => roots.name(named))
    if (isDevicePath(named) && !isNamed) return 'PATH_DEVICE'
    if (location === undefined) return 'PATH_SYMLINK_LOOP'
    if (this.#contains(location.real)) return undefined
    return location.links > 0 && isNamed ? 'PATH_SYMLINK_ESCAPE' : 'PATH_OUTSIDE_ROOT'
  }

  #contains(real: string): boolean {
    return this.#lists.some((roots) => roots.contains(real))
  }

  #folders(): string[] {
    return [...new Set(this.#lists.flatMap((roots) => [...roots.folders]))]
  }
}
