import type fs from 'node:fs'
import path from 'node:path'
import { errors } from '../errors.js'
import { disk, lookAt } from './disk.js'
import { isBelowFolder } from './overlay.js'
import { OverlayStore } from './overlay-store.js'

/** A change that an overlay would make on disk. */
export interface FileChange {
  /** Absolute. */
  readonly path: string
  readonly kind: 'added' | 'changed' | 'deleted'
  readonly type: 'file' | 'folder' | 'link'
  /** Bytes on disk today; missing if there is nothing, or a folder. */
  readonly sizeBefore?: number
  /** Bytes in the overlay; missing if it is deleted, or a folder. */
  readonly sizeAfter?: number
  /** Path of the new content; missing if it is deleted. */
  readonly from?: string
}

export const isOverlay = (folder: string): boolean => OverlayStore.open(folder) !== undefined

/** Differences between an overlay and the current disk, sorted by path. */
export function overlayChanges(folder: string): readonly FileChange[] {
  const store = openOverlay(folder)
  const deleted = [...store.hidden].flatMap(([filePath, why]) =>
    why === 'deleted' ? [filePath] : [],
  )
  // Of a deleted folder, only the folder.
  const tops = deleted.filter((filePath) =>
    deleted.every((other) => other === filePath || !isBelowFolder(filePath, other)),
  )
  return [
    ...writtenIn(store, store.tree),
    ...tops.flatMap((filePath) => [...missingAt(store, filePath)]),
  ].toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

/**
 * Applies the changes of an overlay: to the disk, or below `to`, which only gets added and changed
 * files. The overlay itself does not change.
 */
export function keepOverlay(folder: string, to?: string): readonly FileChange[] {
  const { base } = openOverlay(folder)
  const changes = overlayChanges(folder)
  const written = to === undefined ? changes : changes.filter(({ kind }) => kind !== 'deleted')
  for (const change of written)
    writeOut(change, to === undefined ? change.path : pathBelow(to, base, change.path))
  return written
}

export function discardOverlay(folder: string): void {
  openOverlay(folder).remove()
}

function openOverlay(folder: string): OverlayStore {
  const store = OverlayStore.open(folder)
  if (store === undefined) throw errors.NO_OVERLAY(folder)
  return store
}

/**
 * `isNew`: the folder does not exist on disk. A link at its path may lead to another folder with
 * other files.
 */
function* writtenIn(store: OverlayStore, folder: string, isNew = false): Generator<FileChange> {
  for (const name of disk.readdirSync(folder)) {
    const from = path.join(folder, name)
    const filePath = store.original(from)
    const after = disk.lstatSync(from)
    const before = isNew ? undefined : lookAt(filePath)
    if (!isSame(from, after, filePath, before))
      yield {
        path: filePath,
        kind: before === undefined ? 'added' : 'changed',
        type: typeOf(after),
        ...(before?.isFile() && { sizeBefore: before.size }),
        ...(after.isFile() && { sizeAfter: after.size }),
        from,
      }
    if (after.isDirectory()) yield* writtenIn(store, from, !before?.isDirectory())
  }
}

/** Entries that the branch deleted and did not write again. */
function* missingAt(store: OverlayStore, filePath: string): Generator<FileChange> {
  const before = lookAt(filePath)
  if (before === undefined) return
  const after = lookAt(store.overlayPath(filePath))
  if (after === undefined) {
    yield {
      path: filePath,
      kind: 'deleted',
      type: typeOf(before),
      ...(before.isFile() && { sizeBefore: before.size }),
    }
  } else if (before.isDirectory() && after.isDirectory())
    for (const name of disk.readdirSync(filePath))
      yield* missingAt(store, path.join(filePath, name))
}

const typeOf = (stat: fs.Stats): FileChange['type'] =>
  stat.isDirectory() ? 'folder' : stat.isSymbolicLink() ? 'link' : 'file'

/** True for a copy that was never changed. */
function isSame(
  from: string,
  after: fs.Stats,
  filePath: string,
  before: fs.Stats | undefined,
): boolean {
  if (before === undefined || typeOf(before) !== typeOf(after)) return false
  // The overlay gives its owner all permissions for a folder.
  if (after.isDirectory()) return (before.mode | 0o700) === (after.mode | 0o700)
  if (after.isSymbolicLink()) return disk.readlinkSync(from) === disk.readlinkSync(filePath)
  if (before.mode !== after.mode || before.size !== after.size) return false
  return disk.readFileSync(from).equals(disk.readFileSync(filePath))
}

/** Relative to the folder in which the branch ran, if it is inside; otherwise by its full path. */
function pathBelow(to: string, base: string, filePath: string): string {
  const { root } = path.parse(filePath)
  return path.resolve(to, path.relative(isBelowFolder(filePath, base) ? base : root, filePath))
}

function writeOut({ kind, type, from = '' }: FileChange, filePath: string): void {
  const there = lookAt(filePath)
  const isOther = there !== undefined && (type === 'folder') !== there.isDirectory()
  if (kind === 'deleted' || isOther) disk.rmSync(filePath, { recursive: true, force: true })
  if (kind === 'deleted') return
  disk.mkdirSync(path.dirname(filePath), { recursive: true })
  const { mode, atime, mtime } = disk.lstatSync(from)
  if (type === 'folder') {
    disk.mkdirSync(filePath, { recursive: true })
    return disk.chmodSync(filePath, mode & 0o7777)
  }
  // Atomic: replaces the old file completely or not at all.
  const whole = path.join(
    path.dirname(filePath),
    `.retake-${process.pid}-${path.basename(filePath)}`,
  )
  if (type === 'link') disk.symlinkSync(disk.readlinkSync(from), whole)
  else {
    disk.copyFileSync(from, whole)
    disk.chmodSync(whole, mode & 0o7777)
    disk.utimesSync(whole, atime, mtime)
  }
  disk.renameSync(whole, filePath)
}
