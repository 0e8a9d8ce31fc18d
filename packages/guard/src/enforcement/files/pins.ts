import path from 'node:path'
import { disk, outsideRuns } from '@retake/engine/hook'
import { statOf, resolvePath, type ResolvedPath } from '../../bounds/resolve-path.js'
import type { FileAccess } from '../../bounds/scopes.js'
import type { FileCheck } from './file-check.js'

const { O_DIRECTORY, O_NOFOLLOW } = disk.constants
/** Holds a file without opening it; Node has no name for it. */
const O_PATH = 0o10000000

const DESCRIPTORS = '/proc/self/fd'
const canPin = process.platform === 'linux' && disk.existsSync(DESCRIPTORS)

/** A path through a pinned descriptor, and the rest. */
export const PINNED = /^\/proc\/self\/fd\/(\d+)((?:\/.*)?)$/s

/** No file can be there. */
export const MISSING_PATH = `${DESCRIPTORS}/2147483646/nothing`

/** How often a path is followed again that changes all the time. */
const ATTEMPTS = 100

/** Descriptors that are pinned by any call. */
const retained = new Set<number>()

export const pinnedFolder = (fd: number): string | undefined =>
  retained.has(fd) ? `${DESCRIPTORS}/${fd}` : undefined

/**
 * Holds what was checked until it was used, so that nobody can exchange it in between. On
 * Linux a file is pinned by a descriptor and reached through `/proc/self/fd`: the system then
 * follows no path any more. Elsewhere the path without its links is used, and a folder on the
 * way that is exchanged for a link in that moment is not noticed. A run between the
 * tool and the disk gets the path as it was given, which is what goes on its tape.
 */
export class Pins {
  readonly #fds: number[] = []
  /** Original paths by pinned path, for error messages. */
  readonly #names: [pinned: string, given: string][] = []

  constructor(readonly check: FileCheck) {}

  /** A run needs the path for its tape; a tool without a file scope has no boundary to escape. */
  get #passesOn(): boolean {
    return this.check.session !== undefined || !this.check.haveScopes
  }

  /** Pins the target of a path, links followed. With `creates`, a name in its folder if nothing is there yet. */
  target(accesses: readonly FileAccess[], text: string, creates = false): string {
    if (text === MISSING_PATH) return text
    if (this.#passesOn || !canPin) {
      this.#inspect(accesses, text)
      return this.#passesOn ? text : (resolvePath(text)?.real ?? text)
    }
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      this.#inspect(accesses, text)
      const location = resolvePath(text)
      if (location === undefined) continue
      if (location.stats === undefined) {
        const made = creates
          ? this.#entryOf(accesses, text, location)
          : this.#missing(text, location)
        if (made !== undefined) return made
        continue
      }
      const fd = this.#pinFolder(location, 0)
      if (fd === undefined) continue
      this.#inspect(accesses, pinnedPath(fd))
      return this.#named(`${DESCRIPTORS}/${fd}`, text)
    }
    this.check.access('changed', text)
    return MISSING_PATH
  }

  /** An entry of a folder, whether or not something is there; a link is not followed. */
  entry(inspect: (text: string) => void, text: string): string {
    if (text === MISSING_PATH) return text
    if (this.#passesOn || !canPin) {
      inspect(text)
      return this.#passesOn ? text : (resolvePath(text, { follow: false })?.real ?? text)
    }
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const location = resolvePath(text, { follow: false })
      inspect(text)
      const pinned = location && this.#inFolder(location, text, inspect)
      if (pinned !== undefined) return pinned
    }
    this.check.access('changed', text)
    return MISSING_PATH
  }

  /** Keeps a descriptor that was opened on the way until the end. */
  keep(fd: number, given: string): string {
    retained.add(fd)
    this.#fds.push(fd)
    return this.#named(`${DESCRIPTORS}/${fd}`, given)
  }

  release(): void {
    for (const fd of this.#fds.splice(0)) {
      retained.delete(fd)
      disk.closeSync(fd)
    }
  }

  /** Text of the system with the paths that the tool knows. */
  unpinned(text: string): string {
    let shown = text
    for (const [pinned, given] of this.#names)
      shown = shown.replaceAll(new RegExp(`${pinned}(?!\\d)`, 'g'), () => given)
    return shown
  }

  restoreError(error: unknown): unknown {
    if (!(error instanceof Error) || this.#names.length === 0) return error
    const fields = error as Error & { path?: unknown; dest?: unknown }
    for (const key of ['message', 'stack', 'path', 'dest'] as const) {
      const value = fields[key]
      if (typeof value === 'string') fields[key] = this.unpinned(value)
    }
    return error
  }

  #inspect(accesses: readonly FileAccess[], text: string): void {
    for (const access of accesses) this.check.access(access, text)
  }

  /** For a new entry: its folder is pinned, and its name must not be followed. */
  #entryOf(
    accesses: readonly FileAccess[],
    text: string,
    location: ResolvedPath,
  ): string | undefined {
    return this.#inFolder(location, text, (at) => this.#inspect(accesses, at))
  }

  #inFolder(
    { real }: ResolvedPath,
    text: string,
    inspect: (text: string) => void,
  ): string | undefined {
    let folder = path.dirname(real)
    while (resolvePath(folder)?.stats === undefined && folder !== path.dirname(folder))
      folder = path.dirname(folder)
    const location = resolvePath(folder, { follow: false })
    const fd =
      location &&
      this.#pinFolder(location, location.stats?.isDirectory() === true ? O_DIRECTORY : 0)
    if (fd === undefined) return undefined
    const rest = real.slice(folder.length).replace(/^\/+/, '')
    inspect(path.join(pinnedPath(fd), rest))
    return this.#named(rest === '' ? `${DESCRIPTORS}/${fd}` : `${DESCRIPTORS}/${fd}/${rest}`, text)
  }

  /** Nothing is there: whoever puts something there now is too late. */
  #missing(text: string, { real }: ResolvedPath): string | undefined {
    const parent = resolvePath(path.dirname(real))
    if (parent?.stats?.isFile() !== true) return this.#named(MISSING_PATH, text)
    const fd = this.#pinFolder(parent, 0)
    return fd === undefined ? undefined : this.#named(`${DESCRIPTORS}/${fd}/nothing`, text)
  }

  /** Undefined when it is not what was found before. */
  #pinFolder({ real, stats }: ResolvedPath, flags: number): number | undefined {
    let fd: number
    try {
      fd = outsideRuns(() => disk.openSync(real, O_PATH | O_NOFOLLOW | flags))
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'ENOENT' || code === 'ELOOP' || code === 'ENOTDIR') return undefined
      throw error
    }
    const found = disk.fstatSync(fd)
    if (found.isSymbolicLink() || found.ino !== stats?.ino || found.dev !== stats.dev) {
      disk.closeSync(fd)
      return undefined
    }
    this.keep(fd, real)
    return fd
  }

  #named(pinned: string, given: string): string {
    // The newest name of the same thing, and longer paths first.
    this.#names.unshift([escape(pinned), given])
    this.#names.sort(([one], [other]) => other.length - one.length)
    return pinned
  }
}

/** As a part of a regular expression. */
const escape = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)

/** The path of a descriptor, according to the system. */
export function pinnedPath(fd: number): string {
  const location = disk.readlinkSync(`${DESCRIPTORS}/${fd}`)
  return statOf(location) === undefined ? location.replace(/ \(deleted\)$/, '') : location
}
