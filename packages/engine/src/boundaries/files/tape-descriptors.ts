import { devNull } from 'node:os'
import { disk } from '../../overlay/disk.js'
import {
  flagBits,
  opensForWriting,
  opensToAppend,
  opensToRead,
  reopeningBits,
} from '../../overlay/open-flags.js'
import { isBelowFolder, Overlay, overlayOf } from '../../overlay/overlay.js'
import { outsideRuns } from '../../kernel/scope.js'
import type { Session } from '../../kernel/session.js'
import { NO_DESCRIPTOR } from './file-functions.js'
import { nativeFunction } from './file-natives.js'

/** A descriptor whose number may differ from the system's number. */
interface TapeDescriptor {
  /** Absolute, as the run sees it. */
  path: string
  readonly bits: number
  /** Position of the next read or write without an explicit one; tracked while served. */
  position: number
  /** The system's number, once the file is open. */
  real: number | undefined
  /** True if it was opened live under an invented number, because its own was taken. */
  readonly isVirtual: boolean
  isClosed: boolean
}

/**
 * Descriptors of a run that is first served and then live. While served, a descriptor is only a
 * number from the tape. The system may use the same number for something else in this process, even
 * for the tape itself. So a live call never uses the agent's number: on first use, the file is
 * opened by its path, and the new number is used.
 */
export class TapeDescriptors {
  readonly #descriptors = new Map<number, TapeDescriptor>()
  /** Arguments of calls that open a file and still wait for their answer from the tape. */
  readonly #opening = new Set<readonly unknown[]>()
  #nextVirtual = FIRST_VIRTUAL

  constructor(readonly session: Session) {}

  /** True if a number may refer to different files for the agent and the system. */
  get isNeeded(): boolean {
    return this.#descriptors.size > 0 || this.#opening.size > 0
  }

  /** Called when the tape has opened a file; `real` is set if it was opened immediately in an overlay. */
  opened(fd: number, path: string, flags: unknown, real?: number): void {
    isInUse = true
    const bits = flagBits(flags)
    this.#descriptors.set(fd, { path, bits, position: 0, real, isVirtual: false, isClosed: false })
  }

  /** Called when a served call begins to open a file with these arguments. */
  opening(args: readonly unknown[]): void {
    if (this.session.local === 'tape') this.#opening.add(args)
  }

  /** Called when that call has its answer, or became live. */
  settled(args: readonly unknown[]): void {
    this.#opening.delete(args)
  }

  /** Called when the tape read or wrote bytes at the descriptor's own position. */
  moved(fd: number, count: number, written = false): void {
    const descriptor = this.#descriptors.get(fd)
    if (descriptor === undefined) return
    const { real, bits } = descriptor
    if (written && opensToAppend(bits)) descriptor.position = Infinity
    else descriptor.position += count
    if (!written && real !== undefined) skip(real, count)
  }

  /** The file that the tape opened under this number, and the position of its next read. */
  positionOf(fd: number): { readonly path: string; readonly position: number } | undefined {
    const descriptor = this.#descriptors.get(fd)
    return descriptor?.isVirtual === false && !descriptor.isClosed ? descriptor : undefined
  }

  /** The system's number for a live call. An unusable descriptor gets a number that no file has. */
  real(fd: number): number {
    const descriptor = this.#descriptors.get(fd)
    if (descriptor === undefined) return fd
    if (descriptor.isClosed) return NO_DESCRIPTOR
    return (descriptor.real ??= this.#reopen(fd, descriptor))
  }

  /** The number that the agent gets for a file that was opened live. */
  adopt(real: number): number {
    const descriptor = this.#descriptors.get(real)
    if (descriptor?.isClosed === true) this.#descriptors.delete(real)
    else if (descriptor !== undefined || this.#opening.size > 0) {
      const fd = this.#nextVirtual++
      const file = { path: '', bits: 0, position: 0, isClosed: false }
      this.#descriptors.set(fd, { ...file, real, isVirtual: true })
      return fd
    }
    return real
  }

  /**
   * Called when the agent closed the descriptor. Its number from the tape stays reserved, because a
   * late use must not reach another file.
   */
  closed(fd: number): void {
    const descriptor = this.#descriptors.get(fd)
    if (descriptor?.isVirtual === true) this.#descriptors.delete(fd)
    else if (descriptor) descriptor.isClosed = true
  }

  /**
   * Releases the descriptor and returns the system's number to close. Also works if the file could
   * not be opened.
   */
  close(fd: number): number {
    const descriptor = this.#descriptors.get(fd)
    if (descriptor === undefined) return fd
    const { isClosed, real = NO_DESCRIPTOR } = descriptor
    this.closed(fd)
    return isClosed ? NO_DESCRIPTOR : real !== NO_DESCRIPTOR ? real : disk.openSync(devNull, 'r')
  }

  /** The system's number, if the file is open. */
  openNumber(fd: number): number | undefined {
    const descriptor = this.#descriptors.get(fd)
    return descriptor?.isClosed === false && descriptor.real !== NO_DESCRIPTOR
      ? descriptor.real
      : undefined
  }

  /** Repeats in the overlay the changes that the tape made to an open file. */
  repeat(fd: number, name: string, args: readonly unknown[]): void {
    const overlay = overlayOf(this.session)
    const descriptor = this.#descriptors.get(fd)
    if (overlay === undefined || descriptor === undefined || !overlay.covers(descriptor.path))
      return
    try {
      nativeFunction(`${name}Sync`)(this.real(fd), ...args)
    } catch {
      overlay.unknown.add(descriptor.path)
    }
  }

  /** Called before files are removed or replaced: opens those that descriptors still need. */
  openBelow(paths: readonly string[]): void {
    for (const [fd, { path, real, isClosed }] of this.#descriptors)
      if (
        real === undefined &&
        !isClosed &&
        paths.some((filePath) => isBelowFolder(path, filePath))
      )
        this.real(fd)
  }

  renamed(from: string, to: string): void {
    for (const descriptor of this.#descriptors.values())
      if (isBelowFolder(descriptor.path, from))
        descriptor.path = to + descriptor.path.slice(from.length)
  }

  #reopen(fd: number, { path, bits, position }: TapeDescriptor): number {
    const overlay = overlayOf(this.session)
    try {
      return outsideRuns(() => {
        const filePath = overlay?.resolve(path) ?? path
        const at = opensForWriting(bits)
          ? overlay?.forWriting(filePath)
          : overlay?.locate(filePath).at
        const real = disk.openSync(at ?? filePath, reopeningBits(bits))
        if (opensToRead(reopeningBits(bits))) skip(real, position)
        return real
      })
    } catch (error) {
      this.session.note({
        kind: 'boundary',
        name: `descriptor ${fd}, ${path}`,
        text: `opened before the run went live, and could not be opened again: ${(error as Error).message}`,
      })
      return NO_DESCRIPTOR
    }
  }
}

/** Above every number that a system uses. */
const FIRST_VIRTUAL = 1_000_000

/** Moves the position of a file by reading, because Node cannot seek. */
function skip(real: number, count: number): void {
  if (count === 0 || !disk.fstatSync(real).isFile()) return
  const buffer = Buffer.allocUnsafeSlow(Math.min(count, 65_536))
  let left = count
  while (left > 0) {
    const read = disk.readSync(real, buffer, 0, Math.min(left, buffer.length), null)
    if (read === 0) return
    left -= read
  }
}

const all = new WeakMap<Session, TapeDescriptors>()
let isInUse = false

/** True if any run of this process has an overlay or descriptors from a tape. */
export const mayUseDescriptors = (): boolean => isInUse || Overlay.isInUse

export function descriptorsOf(session: Session): TapeDescriptors {
  const owner = session.owner ?? session
  let descriptor = all.get(owner)
  if (descriptor === undefined) all.set(owner, (descriptor = new TapeDescriptors(owner)))
  return descriptor
}
