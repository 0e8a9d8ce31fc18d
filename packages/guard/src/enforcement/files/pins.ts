import path from 'node:path'
import { disk, outsideRuns } from '@retake/engine/hook'
import { statOf, resolvePath, type ResolvedPath } from '../../bounds/file-roots.js'
import type { FileAccess } from '../../bounds/scopes.js'
import type { FileCheck } from './file-check.js'

const { O_DIRECTORY, O_NOFOLLOW } = disk.constants
/** Refers to a file without opening it. Node has no constant for it. */
const O_PATH = 0o10000000

const DESCRIPTORS = '/proc/self/fd'
const isLinux = process.platform === 'linux' && disk.existsSync(DESCRIPTORS)

const MISSING_PATH = `${DESCRIPTORS}/2147483646/nothing`

/** Attempts to resolve a path that keeps changing. */
const ATTEMPTS = 100

/**
 * Checks paths and pins what was checked, so that it cannot be replaced before it is used. On Linux,
 * a descriptor pins a file, which is then opened through `/proc/self/fd`. Elsewhere, the path without
 * links is used, and a folder that becomes a link in that moment is not noticed. Without `canPin`,
 * paths stay unchanged: a run needs them for its tape.
 */
export class Pins {
  readonly #fds: number[] = []
  /** Original paths by pinned path, for error messages. */
  readonly #names: [pinned: string, given: string][] = []
  readonly #passesOn: boolean

  constructor(
    readonly check: FileCheck,
    canPin: boolean,
  ) {
    this.#passesOn = !canPin || !check.haveScopes
  }

  /** Pins the target of a path, links followed. With `creates`, a name in its folder if it does not exist. */
  target(accesses: readonly FileAccess[], text: string, creates = false): string {
    const inspect = (at: string): void =>
      accesses.forEach((access) => this.check.access(access, at))
    return this.#pinned(text, true, inspect, (location) => {
      if (location.stats === undefined) {
        const parent = resolvePath(path.dirname(location.real))?.stats
        return creates || parent?.isFile() === true
          ? this.#inFolder(location, inspect)
          : MISSING_PATH
      }
      const fd = this.#pin(location, 0)
      if (fd === undefined) return undefined
      inspect(pinnedPath(fd))
      return `${DESCRIPTORS}/${fd}`
    })
  }

  /** Pins an entry of a folder, existing or not, without following a link. */
  entry(inspect: (text: string) => void, text: string): string {
    return this.#pinned(text, false, inspect, (location) => this.#inFolder(location, inspect))
  }

  /** The same for a folder that is made together with the folders around it. */
  newFolder(inspect: (text: string) => void, text: string): string {
    return this.#pinned(text, false, inspect, (location) => this.#inFolder(location, inspect, true))
  }

  /** Adds a descriptor to close at the end. */
  pinDescriptor(fd: number, given: string): string {
    this.#fds.push(fd)
    return this.#named(`${DESCRIPTORS}/${fd}`, given)
  }

  release(): void {
    for (const fd of this.#fds.splice(0)) disk.closeSync(fd)
  }

  /** Replaces pinned paths in a text by those that the tool knows. */
  unpinned(text: string): string {
    let shown = text
    for (const [pinned, given] of this.#names)
      shown = shown.replaceAll(new RegExp(`${pinned}(?!\\d)`, 'g'), () => given)
    return shown
  }

  /** The same for an error, or for the object that Node creates it from. */
  restore<T>(error: T): T {
    if (typeof error !== 'object' || error === null || this.#names.length === 0) return error
    const fields = error as Record<string, unknown>
    for (const key of ['message', 'stack', 'path', 'dest']) {
      const value = fields[key]
      if (typeof value === 'string') fields[key] = this.unpinned(value)
    }
    return error
  }

  #pinned(
    text: string,
    follow: boolean,
    inspect: (text: string) => void,
    pin: (location: ResolvedPath) => string | undefined,
  ): string {
    if (this.#passesOn || !isLinux) {
      inspect(text)
      return this.#passesOn ? text : (resolvePath(text, { follow })?.real ?? text)
    }
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      inspect(text)
      const location = resolvePath(text, { follow })
      const pinned = location && pin(location)
      if (pinned !== undefined) return this.#named(pinned, text)
    }
    this.check.access('changed', text)
    return MISSING_PATH
  }

  /**
   * Pins the nearest existing folder. Only a new folder may be further below it: a missing folder
   * could become a link that leads out, and only the last name of a path is not followed.
   */
  #inFolder(
    { real }: ResolvedPath,
    inspect: (text: string) => void,
    isNewFolder = false,
  ): string | undefined {
    let folder = path.dirname(real)
    while (resolvePath(folder)?.stats === undefined && folder !== path.dirname(folder))
      folder = path.dirname(folder)
    const location = resolvePath(folder, { follow: false })
    const isFolder = location?.stats?.isDirectory() === true
    const fd = location && this.#pin(location, isFolder ? O_DIRECTORY : 0)
    if (fd === undefined) return undefined
    const rest = real.slice(folder.length).replace(/^\/+/, '')
    inspect(path.join(pinnedPath(fd), rest))
    if (rest.includes('/') && !isNewFolder) return MISSING_PATH
    return rest === '' ? `${DESCRIPTORS}/${fd}` : `${DESCRIPTORS}/${fd}/${rest}`
  }

  /** Undefined if the entry has changed. */
  #pin({ real, stats }: ResolvedPath, flags: number): number | undefined {
    let fd: number
    try {
      fd = outsideRuns(() => disk.openSync(real, O_PATH | O_NOFOLLOW | flags))
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException
      if (['ENOENT', 'ELOOP', 'ENOTDIR'].includes(code)) return undefined
      throw error
    }
    const found = disk.fstatSync(fd)
    if (found.isSymbolicLink() || found.ino !== stats?.ino || found.dev !== stats.dev) {
      disk.closeSync(fd)
      return undefined
    }
    this.pinDescriptor(fd, real)
    return fd
  }

  #named(pinned: string, given: string): string {
    // Newest and longest first.
    this.#names.unshift([pinned.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`), given])
    this.#names.sort(([one], [other]) => other.length - one.length)
    return pinned
  }
}

/** The path of a descriptor, according to the system. */
function pinnedPath(fd: number): string {
  const location = disk.readlinkSync(`${DESCRIPTORS}/${fd}`)
  return statOf(location) === undefined ? location.replace(/ \(deleted\)$/, '') : location
}
