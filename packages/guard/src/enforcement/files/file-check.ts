import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { types } from 'node:util'
import { disk, outsideRuns, overlayOf, type Session } from '@retake/engine/hook'
import { attempt } from '@retake/tape/format'
import type { CallBounds } from '../../bounds/call-bounds.js'
import { type ResolvedPath, resolvePath, statOf } from '@retake/runner/sandbox'
import type { FileAccess } from '../../bounds/scopes.js'

/** Checks file access against the bounds of all enclosing calls. */
export class FileCheck {
  constructor(
    readonly bounds: readonly CallBounds[],
    /** The run inside the tool, if the tool records one. */
    readonly session?: Session,
  ) {}

  /** True if a call has a file scope. Otherwise, only the files of Retake are protected. */
  get haveScopes(): boolean {
    return this.bounds.some(({ scopes }) => scopes.some(({ files }) => files !== undefined))
  }

  /** Throws unless the target of the path, with links followed, may be used. */
  access(access: FileAccess, text: string): void {
    for (const each of this.bounds) each.file(access, text)
    const overlay = this.session && overlayOf(this.session)
    // In a branch, the overlay may have another entry at this path.
    if (overlay === undefined || text.includes('\0')) return
    const seen = overlay.resolve(path.resolve(text))
    for (const each of this.bounds) each.file(access, seen)
  }

  /** Like `access`, but does not follow a link at the end of the path. */
  entry(access: FileAccess, text: string): void {
    const isLink = statOf(text)?.isSymbolicLink() === true
    this.access(access, isLink ? path.dirname(path.resolve(text)) : text)
  }

  /** Like `entry`, for an entry that is removed. A root itself cannot be removed. */
  removal(text: string): void {
    this.entry('write', text)
    if (statOf(text)?.isDirectory() === true) this.access('write', path.dirname(path.resolve(text)))
    for (const each of this.bounds) each.removal(text)
  }

  /** Throws unless the target of a new link may be read and written. */
  link(target: string, at: string): void {
    const folder = path.dirname(resolvePath(at, { follow: false })?.real ?? path.resolve(at))
    const location = path.isAbsolute(target) ? target : `${folder}/${target}`
    this.access('write', location)
    this.access('read', location)
  }
}

/** A path as text. Undefined if it is not a path; Node then reports the error. */
export function pathArgument(check: FileCheck, location: unknown): string | undefined {
  if (typeof location === 'string') return location
  if (types.isUint8Array(location)) {
    const bytes = Buffer.from(new Uint8Array(location))
    const text = bytes.toString()
    // Bytes that are not UTF-8 would name another file than the one that was checked.
    if (!Buffer.from(text).equals(bytes)) check.access('unseen', text)
    return text
  }
  return location instanceof URL ? fileURLToPath(location) : undefined
}

/** Matches files that a module loader reads. */
const CODE = /\.(?:[cm]?[jt]sx?|node|wasm|map)$|[\\/]package\.json$|[\\/]node_modules[\\/]/i

/** Functions that a module loader calls to find a module. */
const LOOKS = new Set(['exists', 'lstat', 'readlink', 'realpath', 'stat'])

/**
 * True if Node may make this call to load a module, which is allowed from anywhere. ESM `import`
 * bypasses `node:fs`, so it never reaches this check.
 */
export function isCode(name: string, location: unknown): boolean {
  if (LOOKS.has(name)) return true
  const text = location instanceof URL ? location.pathname : location
  return (
    name === 'readFile' && CODE.test(resolvePath(typeof text === 'string' ? text : '')?.real ?? '')
  )
}

const { O_DIRECTORY, O_NOFOLLOW } = disk.constants
/** Opens a descriptor that only refers to a file. Node has no constant for this flag. */
const O_PATH = 0o10000000

const DESCRIPTORS = '/proc/self/fd'
// Under Node's permission model, Node 20 throws here, and any program that imports Retake would fail.
const isLinux = process.platform === 'linux' && attempt(() => disk.existsSync(DESCRIPTORS), false)

const MISSING_PATH = `${DESCRIPTORS}/2147483646/nothing`

/** Attempts to pin a path that keeps changing. */
const ATTEMPTS = 100

/**
 * Checks paths and pins the checked entries, so that they cannot be replaced before they are used.
 * On Linux, a descriptor pins the entry, which is then opened through `/proc/self/fd`. Elsewhere, the
 * resolved path is used; a folder that becomes a link at that moment is not noticed. Without
 * `canPin`, paths stay unchanged, because a run records them.
 */
export class Pins {
  readonly #fds: number[] = []
  /** Original paths by pinned path, for error messages. */
  readonly #names: [pinned: string, given: string][] = []
  readonly #passesOn: boolean
  /** The first folder that `newFolder` created, which `mkdir` returns. */
  firstFolder: string | undefined

  constructor(
    readonly check: FileCheck,
    canPin: boolean,
  ) {
    this.#passesOn = !canPin || !check.haveScopes
  }

  /** Pins the target of a path. With `creates`, pins the folder of a target that does not exist. */
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
      return this.#itself(location, 0, inspect)
    })
  }

  /** Pins an entry of a folder, existing or not, without following a link. */
  entry(inspect: (text: string) => void, text: string): string {
    return this.#pinned(text, false, inspect, (location) => this.#inFolder(location, inspect))
  }

  /**
   * Creates a folder and the missing folders above it, and pins it. Each is created inside the pinned
   * folder above it, because a missing folder could become a link that leads out. If an entry is in
   * the way, Node reports the error for the returned path.
   */
  newFolder(inspect: (text: string) => void, text: string, mode: number): string {
    return this.#pinned(text, false, inspect, (location) => {
      if (location.stats?.isDirectory() === true)
        return this.#itself(location, O_DIRECTORY, inspect)
      const nearest = this.#nearest(location, inspect)
      if (nearest === undefined) return undefined
      if (location.stats !== undefined || !nearest.isFolder) return descriptorPath(nearest)
      const names = nearest.rest.split('/')
      let { fd } = nearest
      for (const [index, name] of names.entries()) {
        const at = descriptorPath({ fd, rest: name })
        if (this.#create(at, text, mode)) this.firstFolder ??= above(text, names.length - index - 1)
        const stats = statOf(at)
        const next = stats && this.#pin({ real: at, stats, links: 0 }, O_DIRECTORY)
        if (next === undefined) return undefined
        for (const each of this.#fds.splice(0, this.#fds.length - 1)) disk.closeSync(each)
        fd = next
      }
      return descriptorPath({ fd })
    })
  }

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

  /** Replaces pinned paths in an error, or in the object that Node creates it from. */
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

  #itself(
    location: ResolvedPath,
    flags: number,
    inspect: (text: string) => void,
  ): string | undefined {
    const fd = this.#pin(location, flags)
    if (fd === undefined) return undefined
    inspect(pinnedPath(fd))
    return descriptorPath({ fd })
  }

  /** Pins the folder of an entry. */
  #inFolder(location: ResolvedPath, inspect: (text: string) => void): string | undefined {
    const nearest = this.#nearest(location, inspect)
    if (nearest === undefined) return undefined
    return nearest.isFolder && nearest.rest.includes('/') ? MISSING_PATH : descriptorPath(nearest)
  }

  /** Pins the nearest existing entry above a path. `rest` is the remaining path. */
  #nearest(
    { real }: ResolvedPath,
    inspect: (text: string) => void,
  ): { fd: number; rest: string; isFolder: boolean } | undefined {
    let folder = path.dirname(real)
    while (resolvePath(folder)?.stats === undefined && folder !== path.dirname(folder))
      folder = path.dirname(folder)
    const location = resolvePath(folder, { follow: false })
    const isFolder = location?.stats?.isDirectory() === true
    const fd = location && this.#pin(location, isFolder ? O_DIRECTORY : 0)
    if (fd === undefined) return undefined
    const rest = real.slice(folder.length).replace(/^\/+/, '')
    inspect(path.join(pinnedPath(fd), rest))
    return { fd, rest, isFolder }
  }

  /** False if the entry exists, or the folder around it is gone. */
  #create(at: string, given: string, mode: number): boolean {
    try {
      outsideRuns(() => disk.mkdirSync(at, mode))
      return true
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException
      if (['EEXIST', 'ENOENT'].includes(code)) return false
      this.#named(at, given)
      throw error
    }
  }

  /** Opens the entry; undefined if it was replaced. */
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
    // Longest first; of equal length, newest first.
    this.#names.unshift([pinned.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`), given])
    this.#names.sort(([one], [other]) => other.length - one.length)
    return pinned
  }
}

const descriptorPath = ({ fd, rest = '' }: { fd: number; rest?: string }): string =>
  rest === '' ? `${DESCRIPTORS}/${fd}` : `${DESCRIPTORS}/${fd}/${rest}`

/** The folder some levels above a path. A relative path stays relative. */
function above(text: string, levels: number): string {
  let folder = text.replaceAll(/\/\.(?=\/|$)/g, '')
  for (let level = 0; level < levels; level++) folder = path.dirname(folder)
  return folder
}

function pinnedPath(fd: number): string {
  const location = disk.readlinkSync(`${DESCRIPTORS}/${fd}`)
  return statOf(location) === undefined ? location.replace(/ \(deleted\)$/, '') : location
}
