import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { lockNativeWays } from '../enforcement/files/other-ways.js'
import { installOnce } from '../enforcement/install.js'
import { fileDenial, type FileDenialCode } from './file-denials.js'
import { FileRoots } from './file-roots.js'
import type { FileScope } from './scopes.js'
import { type ResolvedPath, resolvePath, statOf } from './resolve-path.js'
import type { FileAccess, Scopes } from './scopes.js'

/**
 * A compiled file scope. `check` follows every link and compares where the path
 * really leads: it is the lock, and the boundary asks it. `inspect` looks at arguments before
 * a tool starts: a courtesy that stays silent about everything that may be ordinary text.
 */
export function fileBounds(policy: string, scope: FileScope): NonNullable<Scopes['files']> {
  installOnce(lockNativeWays)
  const read = scope.read && new FileRoots(scope.read)
  const isSame = JSON.stringify(scope.read) === JSON.stringify(scope.write)
  const write = isSame ? read : scope.write && new FileRoots(scope.write)
  const rootsFor = (access: FileAccess): FileRoots | undefined =>
    access === 'read' ? read : access === 'write' ? write : (read ?? write)
  // Where everything may be read or everything written, an argument alone tells nothing.
  const inspector = read && write && new PathInspector(read, write)
  return {
    roots: { read, write },
    check(how, given) {
      const access = how === 'look' ? 'read' : how
      const roots = rootsFor(access)
      if (roots === undefined) return undefined
      // Many packages look at the folders above the one that they work in.
      if (how === 'look' && roots.isAround(resolvePath(given)?.real ?? '')) return undefined
      const code = refusalOf(access, given, roots, access === 'read' ? write : read)
      return code && fileDenial({ code, access, path: given, policy, roots: roots.names })
    },
    inspect(text, at) {
      const code = inspector?.inspect(text)
      if (code === undefined || read === undefined) return undefined
      return fileDenial({ code, access: 'read', path: text, at, policy, roots: read.names })
    },
  }
}

/** Why a path may not be touched in this way; undefined when it may. */
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
  const form = forbiddenForm(given)
  if (form !== undefined) return form
  const named = path.resolve(given)
  // By name: `/proc/self/cwd` would lead back inside, and somewhere else in another process.
  if (isDevicePath(named) && !roots.name(named)) return 'PATH_DEVICE'
  const location = resolvePath(given)
  if (location === undefined) return 'PATH_SYMLINK_LOOP'
  const { real, stats, links } = location
  if (roots.contains(real)) {
    // Whoever opens a pipe waits for its other end, maybe forever, with a thread of this process.
    const isDevice = stats?.isBlockDevice() || stats?.isCharacterDevice() || stats?.isFIFO()
    return isDevice === true && !isDevicePath(real) ? 'PATH_DEVICE' : undefined
  }
  if (links > 0 && roots.name(named)) return 'PATH_SYMLINK_ESCAPE'
  if (climbs(given)) return 'PATH_TRAVERSAL'
  if (others?.contains(real) === true) return notAllowed
  return isDevicePath(real) ? 'PATH_DEVICE' : 'PATH_OUTSIDE_ROOT'
}

/** Names that Windows gives to devices, in every folder and with every extension. */
const WINDOWS_DEVICE = /(?:^|[\\/])(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:[.: ][^\\/]*)?$/i

/** Forms of a path that mean a machine, a device or a stream, or another name than they say. */
function forbiddenForm(text: string): FileDenialCode | undefined {
  if (text.includes('\0')) return 'PATH_NULL_BYTE'
  if (process.platform !== 'win32') return undefined
  if (/^[\\/]{2}[^\\/]/.test(text)) return 'PATH_UNC'
  if (WINDOWS_DEVICE.test(text)) return 'PATH_DEVICE'
  if (/:/.test(text.replace(/^[A-Za-z]:/, ''))) return 'PATH_STREAM'
  return /(?:^|[\\/])[^\\/]*[^\\/. ][. ]+(?:[\\/]|$)/.test(text) ? 'PATH_TRAILING' : undefined
}

/** Devices, and the insides of processes, which look like files. */
const isDevicePath = (absolute: string): boolean => /^\/(?:dev|proc|sys)(?:\/|$)/.test(absolute)

/** True if one of the names is `..`, with either separator. */
const climbs = (text: string): boolean => /(?:^|[\\/])\.\.(?:[\\/]|$)/.test(text)

/** Longer than every path. */
const LENGTH = 4096

/** Text of several lines, markup, quoted text, and addresses of anything but files. */
const isNoPath = (text: string): boolean =>
  /[\p{Cc}"<>|*`]|\]\(/u.test(text) || (/^[a-z][a-z\d+.-]+:/i.test(text) && !/^file:/i.test(text))

/**
 * Looks at the texts among the arguments of a call, whatever their names, for paths that
 * lead out of the folders. It may overlook one, the boundary does not; it must not take
 * ordinary text for a path. So text that could be both is only refused when something on
 * disk says that it is a path: it exists, or a link that leads out is on its way.
 */
class PathInspector {
  readonly #lists: readonly FileRoots[]

  /** An argument may be read or written: a path that either list allows is let through. */
  constructor(...lists: readonly FileRoots[]) {
    this.#lists = [...new Set(lists)]
  }

  inspect(given: string): FileDenialCode | undefined {
    if (given.length > LENGTH) return undefined
    const text = given.trim()
    if (text === '' || isNoPath(text)) return undefined
    if (/^file:/i.test(text)) return this.#judgeUrl(text)
    const slashed = text.replaceAll('\\', '/')
    if (path.isAbsolute(slashed)) return this.#judgeAbsolute(slashed)
    return climbs(slashed) ? this.#judgeClimbing(slashed) : this.#judgeRelative(slashed)
  }

  #judgeUrl(text: string): FileDenialCode | undefined {
    let location: string
    try {
      location = fileURLToPath(text)
    } catch {
      return undefined
    }
    return /^file:\//i.test(text) ? this.#refusal(location, resolvePath(location)) : undefined
  }

  /** A route of a server begins with a slash, too: it has to be on disk, or nearly. */
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

  /** Refused when it leads out wherever it starts. */
  #judgeClimbing(text: string): FileDenialCode | undefined {
    const bases = [process.cwd(), ...this.#folders()]
    const locations = bases.map((from) => resolvePath(text, { from }))
    if (locations.some((location) => location !== undefined && this.#contains(location.real)))
      return undefined
    const isText = /\s/.test(text) && locations.every((location) => location?.stats === undefined)
    return isText ? undefined : 'PATH_TRAVERSAL'
  }

  /** A plain name is only refused for what is on disk below a folder. */
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
