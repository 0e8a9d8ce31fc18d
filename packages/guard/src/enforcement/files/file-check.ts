import path from 'node:path'
import { types } from 'node:util'
import { fileURLToPath } from 'node:url'
import type { Session } from '@retake/engine/hook'
import type { CallBounds } from '../../bounds/call-bounds.js'
import type { FileAccess } from '../../bounds/scopes.js'
import { resolvePath, statOf } from '../../bounds/file-roots.js'

/** Checks a call of `node:fs` with all enclosing guarded calls. */
export class FileCheck {
  constructor(
    readonly bounds: readonly CallBounds[],
    /** The run inside the tool that makes the call, if any. */
    readonly session?: Session,
  ) {}

  /** True if any has a file scope. Without one, only files of the guard are protected. */
  get haveScopes(): boolean {
    return this.bounds.some(({ scopes }) => scopes.some(({ files }) => files !== undefined))
  }

  /** Throws unless the target of the path may be used, links followed. */
  access(access: FileAccess, text: string): void {
    for (const each of this.bounds) each.file(access, text)
    const overlay = this.session?.overlay
    // In a branch, the path may also exist in the overlay.
    if (overlay === undefined || text.includes('\0')) return
    const seen = overlay.resolve(path.resolve(text))
    for (const each of this.bounds) each.file(access, seen)
  }

  /** The same for the entry itself, without following a link. */
  entry(access: FileAccess, text: string): void {
    const isLink = statOf(text)?.isSymbolicLink() === true
    this.access(access, isLink ? path.dirname(path.resolve(text)) : text)
  }

  /** The same for an entry that is removed. A root itself cannot be removed. */
  removal(text: string): void {
    this.entry('write', text)
    if (statOf(text)?.isDirectory() === true) this.access('write', path.dirname(path.resolve(text)))
    for (const each of this.bounds) each.removal(text)
  }

  /** A link may only lead to what the tool may use. */
  link(target: string, at: string): void {
    const folder = path.dirname(resolvePath(at, { follow: false })?.real ?? path.resolve(at))
    const location = path.isAbsolute(target) ? target : `${folder}/${target}`
    this.access('write', location)
    this.access('read', location)
  }
}

/** A path as text. Undefined if it is not a path, which Node reports. */
export function pathArgument(check: FileCheck, location: unknown): string | undefined {
  if (typeof location === 'string') return location
  if (types.isUint8Array(location)) {
    const bytes = Buffer.from(new Uint8Array(location))
    const text = bytes.toString()
    // Bytes that are not text could name something else than what was checked.
    if (!Buffer.from(text).equals(bytes)) check.access('unseen', text)
    return text
  }
  return location instanceof URL ? fileURLToPath(location) : undefined
}

/** Files that a module loader reads. */
const CODE = /\.(?:[cm]?[jt]sx?|node|wasm|map)$|[\\/]package\.json$|[\\/]node_modules[\\/]/i

/** Functions that a loader calls to find a module. */
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
