import type { Stats } from 'node:fs'
import type { CallBounds } from '../../../guard/bounds/call-bounds.js'
import type { FileAccess } from '../../../guard/bounds/scopes.js'
import { disk } from '../../../overlay/disk.js'
import type { AskedBounds } from './asked-bounds.js'

/** What each guarded call has opened: numbers, and which file each one was. */
const opened = new WeakMap<CallBounds, Map<number, string>>()

export function ownDescriptor({ bounds }: AskedBounds, fd: number): void {
  const file = fileOf(fd)
  if (file === undefined) return
  for (const each of bounds) {
    const own = opened.get(each) ?? new Map<number, string>()
    opened.set(each, own.set(fd, file))
  }
}

/**
 * A descriptor was checked when it was opened, so a call may use its own, and those of the
 * process itself. A number from elsewhere is asked about by the file it stands for; where that
 * is not known, or is no file, it is refused. A number that has been given to another file
 * meanwhile is not its own any more.
 *
 * A `FileHandle` from before the call is not asked about: whoever hands it to a tool hands over the file.
 */
export function askDescriptor(asked: AskedBounds, access: FileAccess, fd: number): void {
  if (fd >= 0 && fd <= 2) return
  const file = fileOf(fd)
  // Nothing is open there: Node says so.
  if (file === undefined) return
  for (const each of asked.bounds) {
    if (opened.get(each)?.get(fd) === file) continue
    const place = placeOf(fd)
    if (place === undefined) each.file('descriptor', `descriptor ${fd}`)
    else each.file(access, place)
  }
}

/** Whether every call around has opened it; then it may also be closed when they are over. */
export function isOwn({ bounds }: AskedBounds, fd: number): boolean {
  const file = fileOf(fd)
  return file !== undefined && bounds.every((each) => opened.get(each)?.get(fd) === file)
}

export function disownDescriptor({ bounds }: AskedBounds, fd: number): void {
  for (const each of bounds) opened.get(each)?.delete(fd)
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

function placeOf(fd: number): string | undefined {
  try {
    const place = disk.readlinkSync(`/proc/self/fd/${fd}`)
    return place.startsWith('/') ? place : undefined
  } catch {
    return undefined
  }
}
