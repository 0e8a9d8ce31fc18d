import path from 'node:path'
import { changesDisk, fileEffect } from '@retake/tape/format'
import { disk } from '../../overlay/disk.js'
import { flagBits, opensForWriting, opensNew, opensToAppend } from '../../overlay/open-flags.js'
import { absolute, changeOverlay, pathsOf } from '../../overlay/overlay-call.js'
import { type Overlay, overlayOf } from '../../overlay/overlay.js'
import { outsideRuns } from '../../kernel/scope.js'
import type { Session } from '../../kernel/session.js'
import type { CapturedOutcome } from '../patching/captured-call.js'
import { descriptorsOf } from './tape-descriptors.js'
import { encodeData, encodingOf } from './file-functions.js'

/**
 * Tracks a call that the tape answered. If the run goes live later, its descriptors must be at
 * their positions, and in a branch the overlay must contain its earlier writes.
 */
export function trackServedCall(
  session: Session,
  name: string,
  args: readonly unknown[],
  outcome: CapturedOutcome,
): void {
  const overlay = overlayOf(session)
  const isFilling = fills(overlay)
  if (name === 'open') descriptorsOf(session).settled(args)
  outsideRuns(() => {
    if ('error' in outcome) {
      const { code } = outcome.error as NodeJS.ErrnoException
      if (isFilling && code === 'ENOENT') foundNothing(overlay, name, args)
      return
    }
    if (typeof args[0] === 'number') onDescriptor(session, name, args, outcome.value, isFilling)
    else if (name === 'open') opened(session, args, outcome.value as number, isFilling)
    else if (isFilling) fill(overlay, name, args, outcome.value)
    if (name === 'rename') {
      const [from = '', to = ''] = pathsOf(name, args).map((p) => overlay?.resolve(p, false) ?? p)
      descriptorsOf(session).renamed(from, to)
    }
  })
}

/** True if served calls must be repeated in the overlay. */
const fills = (overlay: Overlay | undefined): overlay is Overlay =>
  overlay !== undefined && !overlay.isFilled

export function trackServedRead(
  session: Session,
  fd: number,
  position: unknown,
  outcome: CapturedOutcome,
): void {
  if ('error' in outcome || isOwnPosition(position)) return
  const { byteLength } = outcome.value as Uint8Array
  outsideRuns(() => descriptorsOf(session).moved(fd, byteLength))
}

export function trackServedWrite(
  session: Session,
  fd: number,
  write: { readonly name: string; readonly args: readonly unknown[]; readonly position: unknown },
  outcome: CapturedOutcome,
): void {
  if ('error' in outcome) return
  const descriptors = descriptorsOf(session)
  if (fills(overlayOf(session))) outsideRuns(() => descriptors.repeat(fd, write.name, write.args))
  if (!isOwnPosition(write.position)) descriptors.moved(fd, outcome.value as number, true)
}

export const isOwnPosition = (position: unknown): boolean =>
  typeof position === 'bigint' ? position >= 0n : typeof position === 'number' && position >= 0

/** A lookup that found nothing shows that a file which the run created later did not exist yet. */
function foundNothing(overlay: Overlay, name: string, args: readonly unknown[]): void {
  const [filePath, ...others] = pathsOf(name, args)
  if (filePath === undefined || others.length > 0) return
  const resolved = overlay.resolve(filePath)
  if (overlay.parent?.has(resolved) === true) overlay.hideUncreated(resolved)
}

/** Notes that the run created this file, so it did not exist before. */
function isNew(overlay: Overlay, filePath: unknown, follow = false): void {
  overlay.hideUncreated(overlay.resolve(absolute(filePath), follow))
}

function opened(session: Session, args: readonly unknown[], fd: number, isFilling: boolean): void {
  const overlay = overlayOf(session)
  const [given, flags, mode] = args
  const filePath = overlay?.resolve(absolute(given)) ?? absolute(given)
  const bits = flagBits(flags)
  const descriptors = descriptorsOf(session)
  if (!isFilling || overlay === undefined || !opensForWriting(bits) || !overlay.covers(filePath))
    return descriptors.opened(fd, filePath, flags)
  if (opensNew(bits)) overlay.hideUncreated(filePath)
  else if (opensToAppend(bits)) overlay.revertAppends(filePath)
  const real = tryInOverlay(overlay, filePath, () =>
    changeOverlay(overlay, 'open', [filePath, flags, mode]),
  )
  descriptors.opened(fd, filePath, flags, real as number | undefined)
}

function onDescriptor(
  session: Session,
  name: string,
  args: readonly unknown[],
  value: unknown,
  isFilling: boolean,
): void {
  const descriptors = descriptorsOf(session)
  const [fd, data, options] = args as [number, unknown, unknown]
  if (name === 'close') {
    const real = isFilling ? descriptors.openNumber(fd) : undefined
    if (real !== undefined) disk.closeSync(real)
    return descriptors.closed(fd)
  }
  if (name === 'readFile') return descriptors.moved(fd, lengthOf(value, encodingOf(data)))
  const effect = fileEffect(name)
  const isWrite = effect === 'write'
  if (isFilling && (isWrite || effect === 'change')) descriptors.repeat(fd, name, args.slice(1))
  if (isWrite) descriptors.moved(fd, lengthOf(data, encodingOf(options)), true)
}

function lengthOf(data: unknown, encoding: BufferEncoding): number {
  return encodeData(data, encoding).body?.byteLength ?? 0
}

type Fill = (overlay: Overlay, args: readonly unknown[], value: unknown) => void

/** Repeats in the overlay the changes that the run made to the disk. */
function fill(overlay: Overlay, name: string, args: readonly unknown[], value: unknown): void {
  const paths = pathsOf(name, args)
  if (value === FOUND_NOTHING[name] && name in FOUND_NOTHING) foundNothing(overlay, name, args)
  // The overlay does not repeat changes of the owner.
  const isRepeated = changesDisk(name) && !name.endsWith('chown')
  if (!isRepeated || !paths.every((filePath) => overlay.covers(filePath))) return
  BEFORE[name]?.(overlay, args, value)
  if (name === 'mkdtemp')
    return void tryInOverlay(overlay, String(value), () => {
      isNew(overlay, value)
      const folder = overlay.forWriting(overlay.resolve(absolute(value), false))
      disk.mkdirSync(folder, { mode: 0o700 })
    })
  tryInOverlay(overlay, paths.join(' → '), () => changeOverlay(overlay, name, args))
}

/** Results that mean "not found" without an error. */
const FOUND_NOTHING: Readonly<Record<string, unknown>> = {
  exists: false,
  lstat: undefined,
  stat: undefined,
}

/** Infers the earlier state of the disk from a call that succeeded. */
const BEFORE: Readonly<Record<string, Fill>> = {
  appendFile: (overlay, [filePath]) => overlay.revertAppends(overlay.resolve(absolute(filePath))),
  link: (overlay, [, to]) => isNew(overlay, to),
  symlink: (overlay, [, filePath]) => isNew(overlay, filePath),
  mkdir: (overlay, [filePath, options], value) => {
    const { recursive } = (options ?? {}) as { recursive?: boolean }
    if (recursive !== true) isNew(overlay, filePath)
    else if (value !== undefined) isNew(overlay, value)
  },
  writeFile: (overlay, [filePath, , options]) => {
    const { flag } = (options ?? {}) as { flag?: unknown }
    if (opensNew(flagBits(flag ?? 'w'))) isNew(overlay, filePath, true)
    else if (opensToAppend(flagBits(flag ?? 'w')))
      overlay.revertAppends(overlay.resolve(absolute(filePath)))
  },
}

/**
 * Calls that cannot be repeated, because the disk has changed, are reported when the run goes live.
 */
function tryInOverlay(overlay: Overlay, what: string, work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    // The file may have been deleted since, by the recorded run itself.
    const { code, syscall } = error as NodeJS.ErrnoException
    if (!(code === 'ENOENT' && /^(?:unlink|rmdir|rm|lstat)$/.test(syscall ?? '')))
      overlay.unknown.add(path.normalize(what))
    return undefined
  }
}
