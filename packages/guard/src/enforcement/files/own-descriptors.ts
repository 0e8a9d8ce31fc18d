import type { EventEmitter } from 'node:events'
import type { Stats } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { disk } from '@retake/engine/hook'
import type { CallBounds } from '../../bounds/call-bounds.js'
import type { FileAccess } from '../../bounds/scopes.js'
import type { FileCheck } from './file-check.js'

/** Descriptors that a guarded call has opened, with the file of each. */
class OwnDescriptors {
  readonly files = new Map<number, string>()
  isOver = false

  constructor(bounds: CallBounds) {
    bounds.onEnd(() => void (this.isOver = true))
  }
}

const opened = new WeakMap<CallBounds, OwnDescriptors>()

/** Takes note of what `open` gave to a tool: a number, or a handle, which is closed with the call. */
export function ownDescriptor({ bounds }: FileCheck, given: unknown): void {
  const handle: Partial<FileHandle & EventEmitter> | undefined =
    typeof given === 'object' && given !== null ? given : undefined
  const fd = handle?.fd ?? given
  const file = typeof fd === 'number' ? fileOf(fd) : undefined
  if (typeof fd !== 'number' || file === undefined) return
  for (const each of bounds) {
    let own = opened.get(each)
    if (own === undefined) opened.set(each, (own = new OwnDescriptors(each)))
    own.files.set(fd, file)
    if (handle?.close === undefined) continue
    const release = each.onEnd(() => void handle.close?.().catch(() => {}))
    handle.once?.('close', release)
  }
}

/**
 * A descriptor was checked when it was opened, so a call may use its own, and those of the
 * process itself. Any other number is checked by the file it refers to; where that
 * is not known, or is no file, it is refused. A number that has been given to another file
 * meanwhile is not its own any more.
 *
 * A `FileHandle` from before the call is not checked: passing it to a tool passes the file.
 */
export function checkDescriptor(check: FileCheck, access: FileAccess, fd: number): void {
  if (fd >= 0 && fd <= 2) return
  const file = fileOf(fd)
  // Nothing is open there: Node says so.
  if (file === undefined) return
  for (const each of check.bounds) {
    const own = opened.get(each)
    if (own?.isOver === false && own.files.get(fd) === file) continue
    const location = pathOf(fd)
    if (location === undefined) each.file('descriptor', `descriptor ${fd}`)
    else each.file(access, location)
  }
}

/** True if every call around has opened it; then it may also be closed when they are over. */
export function isOwn({ bounds }: FileCheck, fd: number): boolean {
  const file = fileOf(fd)
  return file !== undefined && bounds.every((each) => opened.get(each)?.files.get(fd) === file)
}

export function disownDescriptor({ bounds }: FileCheck, fd: number): void {
  for (const each of bounds) opened.get(each)?.files.delete(fd)
}

function fileOf(fd: number): string | undefined {
  let stats: Stats
  try {
    stats = disk.fstatSync(fd)
  } catch {
    return undefined
  }
  return `${stats.dev}:${stats.ino}`
}

function pathOf(fd: number): string | undefined {
  try {
    const location = disk.readlinkSync(`/proc/self/fd/${fd}`)
    return location.startsWith('/') ? location : undefined
  } catch {
    return undefined
  }
}
