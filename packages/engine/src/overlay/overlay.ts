import { attempt } from '@retake/tape/format'
import type fs from 'node:fs'
import path from 'node:path'
import type { Session } from '../kernel/session.js'
import type { MovedRoot } from '../player/moved-tape.js'
import { disk, LINKS_MAX, lookAt } from './disk.js'
import { OverlayStore, type Hidden } from './overlay-store.js'
import type { ParentWrites } from './parent-writes.js'

export interface LocatedEntry {
  readonly in: 'overlay' | 'disk' | 'nowhere'
  /** The path to use for it; for a missing entry, one that does not exist. */
  readonly at: string
}

/**
 * The files as a branch sees them: the disk, overlaid with everything that the branch itself wrote
 * and deleted. Nothing reaches the disk. Takes absolute or relative paths as the agent gives them,
 * and resolves links in the branch's view. Not promised: that a file opened for reading on disk
 * shows later writes by path; owners of copied files; hard links to files on disk.
 */
export class Overlay {
  /** True if any run of this process has an overlay. */
  static isInUse = false
  /** Paths that the parent run wrote after the branch point, so that the disk has newer content. */
  later: ReadonlySet<string> = new Set()
  /** Earlier changes of the run that could not be repeated here, because the disk differs too much. */
  readonly unknown = new Set<string>()
  readonly store: OverlayStore
  /** Files in the overlay without their content, created by the change in progress. */
  #shells: string[] = []

  /** True if the overlay already has the writes of the served part of the run. */
  readonly isFilled: boolean
  readonly parent: ParentWrites | undefined

  constructor(
    folder: string,
    {
      isFilled = false,
      parent,
      moved,
    }: {
      readonly isFilled?: boolean
      readonly parent?: ParentWrites
      /** Set if the program runs in a copy of its folder. */
      readonly moved?: MovedRoot | undefined
    } = {},
  ) {
    Overlay.isInUse = true
    this.isFilled = isFilled
    this.parent = parent
    this.store = OverlayStore.make(folder, process.cwd(), moved)
  }

  /** False for devices, and for the overlay itself. */
  covers(filePath: string): boolean {
    const absolute = path.resolve(filePath)
    if (isBelowFolder(absolute, this.store.folder)) return false
    return process.platform === 'win32'
      ? !/^\\\\[.?]\\/.test(absolute)
      : !DEVICES.some((folder) => isBelowFolder(absolute, folder))
  }

  /** The path with every link followed, in the branch's view; the last part only with `follow`. */
  resolve(filePath: string, follow = true): string {
    return this.#walk(path.resolve(filePath), follow, LINKS_MAX)
  }

  #walk(absolute: string, follow: boolean, linksLeft: number): string {
    if (!this.covers(absolute)) return absolute
    const { root } = path.parse(absolute)
    const names = absolute.slice(root.length).split(path.sep).filter(Boolean)
    let at = root
    for (const [index, name] of names.entries()) {
      const next = path.join(at, name)
      const rest = names.slice(index + 1)
      const target = rest.length > 0 || follow ? this.#linkAt(next) : undefined
      if (target !== undefined && linksLeft > 0)
        return this.#walk(path.resolve(at, target, ...rest), follow, linksLeft - 1)
      at = next
    }
    return at
  }

  #linkAt(filePath: string): string | undefined {
    const { in: where, at } = this.locate(filePath)
    if (where === 'nowhere' || lookAt(at)?.isSymbolicLink() !== true) return undefined
    return this.store.original(disk.readlinkSync(at))
  }

  /** Where a resolved path is found. */
  locate(filePath: string): LocatedEntry {
    if (!this.covers(filePath)) return { in: 'disk', at: filePath }
    const own = this.store.overlayPath(filePath)
    if (lookAt(own) !== undefined) return { in: 'overlay', at: own }
    if (this.isHidden(filePath) || this.#isBelowFile(filePath)) return { in: 'nowhere', at: own }
    return lookAt(filePath) === undefined
      ? { in: 'nowhere', at: filePath }
      : { in: 'disk', at: filePath }
  }

  /** Stats of a resolved path in the branch's view. */
  lookAt(filePath: string): fs.Stats | undefined {
    const { in: where, at } = this.locate(filePath)
    return where === 'nowhere' ? undefined : lookAt(at)
  }

  /** True if the overlay hides the on-disk entry. Its own entry is still visible. */
  isHidden(filePath: string): boolean {
    const { hidden } = this.store
    if (hidden.size === 0) return false
    for (let at = filePath; ; at = path.dirname(at)) {
      if (hidden.has(at)) return true
      if (at === path.dirname(at)) return false
    }
  }

  /** True if the overlay has a file where the disk may have a folder. */
  #isBelowFile(filePath: string): boolean {
    for (let at = path.dirname(filePath); ; at = path.dirname(at)) {
      const stat = lookAt(this.store.overlayPath(at))
      if (stat !== undefined) return !stat.isDirectory()
    }
  }

  /**
   * Where to write a resolved path. An entry on disk is copied there first, without its `content`
   * if that will be replaced or removed.
   */
  forWriting(filePath: string, { content = true } = {}): string {
    if (!this.covers(filePath)) return filePath
    this.#makeParents(filePath)
    return this.#copyUp(filePath, content)
  }

  /** Like `forWriting`, for a folder with its content. */
  forMoving(filePath: string): string {
    const at = this.forWriting(filePath)
    if (lookAt(at)?.isDirectory())
      for (const { name } of this.list(filePath)) this.forMoving(path.join(filePath, name))
    return at
  }

  /**
   * A path at which a folder with content can be distinguished from an empty one, before it is
   * removed or replaced.
   */
  forRemoving(filePath: string): string {
    const at = this.forWriting(filePath, { content: false })
    const [first] = lookAt(at)?.isDirectory() ? this.list(filePath) : []
    if (first) this.#copyUp(path.join(filePath, first.name), false)
    return at
  }

  /** Makes a change; if it fails, reverts its preparations. */
  change<T>(work: () => T): T {
    const outer = this.#shells
    this.#shells = []
    try {
      return work()
    } catch (error) {
      for (const shell of this.#shells) disk.rmSync(shell, { force: true })
      throw error
    } finally {
      this.#shells = outer
    }
  }

  /** Hides the on-disk entry at a resolved path from the branch. */
  hide(filePath: string, why: Hidden = 'deleted'): void {
    if (this.covers(filePath) && lookAt(filePath) !== undefined) this.store.hide(filePath, why)
  }

  /** Hides an on-disk entry that the parent run created later. */
  hideUncreated(filePath: string): void {
    if (this.locate(filePath).in === 'disk') this.hide(filePath, 'later')
  }

  /**
   * Restores a file that is about to be appended to: content that the run has added since is
   * removed, because it will be added again.
   */
  revertAppends(filePath: string): void {
    if (this.locate(filePath).in !== 'disk' || this.parent?.has(filePath) !== true) return
    const content = disk.readFileSync(filePath)
    const { parts, isAll } = this.parent.appendedTo(filePath)
    for (let count = parts.length; count > 0; count -= 1) {
      const added = Buffer.concat(parts.slice(0, count))
      const rest = content.length - added.length
      if (added.length === 0 || rest < 0 || !content.subarray(rest).equals(added)) continue
      if (rest === 0) this.hide(filePath, 'later')
      else this.put(filePath, content.subarray(0, rest))
      return
    }
    if (!isAll) this.unknown.add(filePath)
  }

  /** Puts a file with this content in place of the one on disk. */
  put(filePath: string, content: Uint8Array): void {
    this.#makeParents(filePath)
    const mode = lookAt(filePath)?.mode ?? 0o644
    this.store.put(filePath, (at) => disk.writeFileSync(at, content, { mode: mode & 0o7777 }))
  }

  /** Entries of a resolved folder, sorted by name; none if it is not a folder. */
  list(filePath: string): fs.Dirent[] {
    const found = new Map<string, fs.Dirent>()
    if (!this.isHidden(filePath))
      for (const entry of entriesOf(filePath))
        if (!this.isHidden(path.join(filePath, entry.name))) found.set(entry.name, entry)
    if (this.covers(filePath))
      for (const entry of entriesOf(this.store.overlayPath(filePath))) found.set(entry.name, entry)
    return [...found.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** Creates parent folders like those on disk; an entry that is not a folder there does not become one. */
  #makeParents(filePath: string): void {
    const parent = this.store.parentOf(filePath)
    if (parent === filePath) return
    this.#makeParents(parent)
    this.#copyUp(parent, false)
  }

  #copyUp(filePath: string, content: boolean): string {
    const { in: where, at } = this.locate(filePath)
    const own = this.store.overlayPath(filePath)
    if (where !== 'disk') return own
    const stat = disk.lstatSync(at)
    if (stat.isSymbolicLink())
      this.store.put(filePath, (to) => disk.symlinkSync(disk.readlinkSync(at), to))
    else if (stat.isDirectory()) {
      // The owner must be able to work in it, because the overlay contains more than the agent may
      // write. Node's permission model may hide the folders above, which are then made as well.
      disk.mkdirSync(own, { recursive: true })
      disk.chmodSync(own, (stat.mode & 0o7777) | 0o700)
      disk.utimesSync(own, stat.atime, stat.mtime)
    } else if (stat.isFile()) {
      if (!content) this.#shells.push(own)
      this.store.put(filePath, (to) => {
        if (content) disk.copyFileSync(at, to, disk.constants.COPYFILE_FICLONE)
        else disk.writeFileSync(to, '')
        disk.chmodSync(to, stat.mode & 0o7777)
        disk.utimesSync(to, stat.atime, stat.mtime)
      })
    } else return at
    return own
  }
}

/** The overlay of a session; the kernel passes it on without looking at it. */
export const overlayOf = ({ overlay }: Pick<Session, 'overlay'>): Overlay | undefined =>
  overlay instanceof Overlay ? overlay : undefined

const DEVICES = ['/dev', '/proc', '/sys']
export const isBelowFolder = (filePath: string, folder: string): boolean =>
  filePath === folder || filePath.startsWith(folder.endsWith(path.sep) ? folder : folder + path.sep)

const entriesOf = (folder: string): fs.Dirent[] =>
  attempt(() => disk.readdirSync(folder, { withFileTypes: true }), [])
