import path from 'node:path'
import { types } from 'node:util'
import { fileURLToPath } from 'node:url'
import type { Session } from '@retake/engine/hook'
import type { CallBounds } from '../../bounds/call-bounds.js'
import type { FileAccess } from '../../bounds/scopes.js'
import { resolvePath, statOf } from '../../bounds/resolve-path.js'

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

  /** The same for the entry itself, not for what a link leads to. */
  entry(access: FileAccess, text: string): void {
    const isLink = statOf(text)?.isSymbolicLink() === true
    this.access(access, isLink ? path.dirname(path.resolve(text)) : text)
  }

  /** The same for an entry that goes away: a root is not a part of itself. */
  removal(text: string): void {
    this.entry('write', text)
    if (statOf(text)?.isDirectory() === true) this.access('write', path.dirname(path.resolve(text)))
    for (const each of this.bounds) each.removal(text)
  }

  /** A link may only lead to where the tool may go itself. */
  link(target: string, at: string): void {
    const folder = path.dirname(resolvePath(at, { follow: false })?.real ?? path.resolve(at))
    const location = path.isAbsolute(target) ? target : `${folder}/${target}`
    this.access('write', location)
    this.access('read', location)
  }
}

/** A path as text, whatever form it came in. Undefined when it is no path at all and Node will say so. */
export function pathArgument(check: FileCheck, location: unknown): string | undefined {
  if (typeof location === 'string') return location
  if (types.isUint8Array(location)) {
    const bytes = Buffer.from(new Uint8Array(location))
    const text = bytes.toString()
    // Bytes that are no text could name something else than what was looked at.
    if (!Buffer.from(text).equals(bytes)) check.access('unseen', text)
    return text
  }
  return location instanceof URL ? fileURLToPath(location) : undefined
}

/** Files that a loader reads: modules in any language, their manifests, and everything in packages. */
const CODE = /\.(?:[cm]?[jt]sx?|node|wasm|map)$|[\\/]package\.json$|[\\/]node_modules[\\/]/i

/** Functions that a loader calls to find a module. */
const LOOKS = new Set(['exists', 'lstat', 'readlink', 'realpath', 'stat'])

/**
 * True if Node may make this call for itself while a guarded tool runs. It loads modules
 * from anywhere, as they are the program; data that is loaded like a module is checked,
 * where Node reads it through `node:fs` at all. ESM `import` bypasses `node:fs`, so it never reaches this check.
 */
export function isCode(name: string, location: unknown): boolean {
  if (LOOKS.has(name)) return true
  const text = location instanceof URL ? location.pathname : location
  return (
    name === 'readFile' && CODE.test(resolvePath(typeof text === 'string' ? text : '')?.real ?? '')
  )
}
