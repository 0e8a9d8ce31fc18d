import path from 'node:path'
import { disk, outsideRuns } from '@retake/engine/hook'
import { lookAt, resolvePlace, type Place } from '../../bounds/resolve-place.js'
import type { FileAccess } from '../../bounds/scopes.js'
import type { AskedBounds } from './asked-bounds.js'

const { O_DIRECTORY, O_NOFOLLOW } = disk.constants
/** Holds a file without opening it; Node has no name for it. */
const O_PATH = 0o10000000

const DESCRIPTORS = '/proc/self/fd'
const canPin = process.platform === 'linux' && disk.existsSync(DESCRIPTORS)

/** A path through something that is held, and what follows it. */
export const PINNED = /^\/proc\/self\/fd\/(\d+)((?:\/.*)?)$/s

/** No file can be there. */
export const NOWHERE = `${DESCRIPTORS}/2147483646/nothing`

/** How often a path is followed again that changes all the time. */
const ATTEMPTS = 100

/** What is held by all calls right now. */
const held = new Set<number>()

export const pinnedFolder = (fd: number): string | undefined =>
  held.has(fd) ? `${DESCRIPTORS}/${fd}` : undefined

/**
 * Holds what was checked until it was used, so that nobody can exchange it in between. On
 * Linux a file is held by a descriptor and reached through `/proc/self/fd`: the system then
 * follows no path any more. Elsewhere the path without its links is used, and a folder on the
 * way that is exchanged for a link in that moment is not noticed. A run that stands between the
 * tool and the disk gets the path as it was given, which is what goes on its tape.
 */
export class Pins {
  readonly #fds: number[] = []
  /** What stands for what, to name in errors what the tool has given. */
  readonly #names: [pinned: string, given: string][] = []

  constructor(readonly asked: AskedBounds) {}

  /** A run needs the path for its tape; a tool without a file scope has no boundary to escape. */
  get #passesOn(): boolean {
    return this.asked.session !== undefined || !this.asked.haveScopes
  }

  /** What is at the end of a path, links followed. With `creates`, a name in its folder if nothing is there yet. */
  target(accesses: readonly FileAccess[], text: string, creates = false): string {
    if (text === NOWHERE) return text
    if (this.#passesOn || !canPin) {
      this.#ask(accesses, text)
      return this.#passesOn ? text : (resolvePlace(text)?.real ?? text)
    }
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      this.#ask(accesses, text)
      const place = resolvePlace(text)
      if (place === undefined) continue
      if (place.stats === undefined) {
        const made = creates ? this.#entryOf(accesses, text, place) : this.#missing(text, place)
        if (made !== undefined) return made
        continue
      }
      const fd = this.#hold(place, 0)
      if (fd === undefined) continue
      this.#ask(accesses, whereIs(fd))
      return this.#named(`${DESCRIPTORS}/${fd}`, text)
    }
    this.asked.ask('changed', text)
    return NOWHERE
  }

  /** An entry of a folder, whether or not something is there; a link is not followed. */
  entry(ask: (text: string) => void, text: string): string {
    if (text === NOWHERE) return text
    if (this.#passesOn || !canPin) {
      ask(text)
      return this.#passesOn ? text : (resolvePlace(text, { follow: false })?.real ?? text)
    }
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const place = resolvePlace(text, { follow: false })
      ask(text)
      const pinned = place && this.#inFolder(place, text, ask)
      if (pinned !== undefined) return pinned
    }
    this.asked.ask('changed', text)
    return NOWHERE
  }

  /** Keeps a descriptor that was opened on the way until the end. */
  keep(fd: number, given: string): string {
    held.add(fd)
    this.#fds.push(fd)
    return this.#named(`${DESCRIPTORS}/${fd}`, given)
  }

  release(): void {
    for (const fd of this.#fds.splice(0)) {
      held.delete(fd)
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

  #ask(accesses: readonly FileAccess[], text: string): void {
    for (const access of accesses) this.asked.ask(access, text)
  }

  /** Where something will be made: the folder is held, the name is not followed by who uses it. */
  #entryOf(accesses: readonly FileAccess[], text: string, place: Place): string | undefined {
    return this.#inFolder(place, text, (at) => this.#ask(accesses, at))
  }

  #inFolder({ real }: Place, text: string, ask: (text: string) => void): string | undefined {
    let folder = path.dirname(real)
    while (resolvePlace(folder)?.stats === undefined && folder !== path.dirname(folder))
      folder = path.dirname(folder)
    const place = resolvePlace(folder, { follow: false })
    const fd = place && this.#hold(place, place.stats?.isDirectory() === true ? O_DIRECTORY : 0)
    if (fd === undefined) return undefined
    const rest = real.slice(folder.length).replace(/^\/+/, '')
    ask(path.join(whereIs(fd), rest))
    return this.#named(rest === '' ? `${DESCRIPTORS}/${fd}` : `${DESCRIPTORS}/${fd}/${rest}`, text)
  }

  /** Nothing is there: whoever puts something there now is too late. */
  #missing(text: string, { real }: Place): string | undefined {
    const parent = resolvePlace(path.dirname(real))
    if (parent?.stats?.isFile() !== true) return this.#named(NOWHERE, text)
    const fd = this.#hold(parent, 0)
    return fd === undefined ? undefined : this.#named(`${DESCRIPTORS}/${fd}/nothing`, text)
  }

  /** Undefined when it is not what was found before. */
  #hold({ real, stats }: Place, flags: number): number | undefined {
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

/** The path of what a descriptor stands for, by the system's own account. */
export function whereIs(fd: number): string {
  const place = disk.readlinkSync(`${DESCRIPTORS}/${fd}`)
  return lookAt(place) === undefined ? place.replace(/ \(deleted\)$/, '') : place
}
