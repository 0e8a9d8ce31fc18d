import path from 'node:path'
import type { Session } from '@retake/engine/hook'
import type { CallBounds } from '../../bounds/call-bounds.js'
import type { FileAccess } from '../../bounds/scopes.js'
import { statOf } from '../../bounds/resolve-path.js'

/** The guarded calls around a call of `node:fs`, all of which have to allow it. */
export class FileCheck {
  constructor(
    readonly bounds: readonly CallBounds[],
    /** The run between the call and the disk, if there is one. */
    readonly session?: Session,
  ) {}

  /** True if any of them has a file scope. Without one, only the guard's own files are closed. */
  get haveScopes(): boolean {
    return this.bounds.some(({ scopes }) => scopes.some(({ files }) => files !== undefined))
  }

  /** Throws unless what is at the end of this path may be touched, links followed. */
  access(access: FileAccess, text: string): void {
    for (const each of this.bounds) each.file(access, text)
    const overlay = this.session?.overlay
    // In a branch a path means what it means there, too.
    if (overlay === undefined || text.includes('\0')) return
    const seen = overlay.resolve(path.resolve(text))
    for (const each of this.bounds) each.file(access, seen)
  }

  /**
   * The same for the entry itself, not for what a link leads to. Whoever may write a folder
   * may remove a link or one of several names of a file from it.
   */
  entry(access: FileAccess, text: string): void {
    const stats = statOf(text)
    const isOneOfMore = stats?.isSymbolicLink() === true || (stats?.isFile() && stats.nlink > 1)
    this.access(access, isOneOfMore === true ? path.dirname(path.resolve(text)) : text)
  }

  /** The same for an entry that goes away: a root is not a part of itself. */
  removal(text: string): void {
    this.entry('write', text)
    if (statOf(text)?.isDirectory() === true) this.access('write', path.dirname(path.resolve(text)))
    for (const each of this.bounds) each.removal(text)
  }
}
