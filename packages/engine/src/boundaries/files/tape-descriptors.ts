import { devNull } from 'node:os'
import { disk } from '../../overlay/disk.js'
import {
  flagBits,
  opensForWriting,
  opensToAppend,
  opensToRead,
  reopeningBits,
} from '../../overlay/open-flags.js'
import { isBelowFolder, Overlay } from '../../overlay/overlay.js'
import { outsideRuns } from '../../scope.js'
import type { Session } from '../../sessions/session.js'
import { NO_DESCRIPTOR } from './file-functions.js'
import { nativeFunction } from './file-natives.js'

/** A descriptor whose number is not, or not surely, that of the system. */
interface TapeDescriptor {
  /** Absolute, as the run sees it. */
  path: string
  readonly bits: number
  /** Where the next read or write without a place of its own goes; counted while served. */
  position: number
  /** The system's number, once there is something behind it. */
  real: number | undefined
  /** Opened live: the number was made up, because its own was taken. */
  readonly isVirtual: boolean
  isClosed: boolean
}

/**
 * The descriptors of a run that is served first and live later. While served, a
 * descriptor is a number from the tape with nothing behind it; the system may have
 * given the same number to something else in this process, the tape itself for
 * one. So a live call never uses the agent's number: it uses the one of the file
 * that is opened here, by its path, when it is first needed.
 */
export class TapeDescriptors {
  readonly #descriptors = new Map<number, TapeDescriptor>()
  /** Calls that the tape answers with a number which is not known yet, by their arguments. */
  readonly #opening = new Set<readonly unknown[]>()
  #nextVirtual = FIRST_VIRTUAL

  constructor(readonly session: Session) {}

  /** True if a number may mean another file than to the system. */
  get isNeeded(): boolean {
    return this.#descriptors.size > 0 || this.#opening.size > 0
  }

  /** The tape has opened a file; `real` if it was opened in an overlay immediately. */
  opened(fd: number, path: string, flags: unknown, real?: number): void {
    isInUse = true
    const bits = flagBits(flags)
    this.#descriptors.set(fd, { path, bits, position: 0, real, isVirtual: false, isClosed: false })
  }

  /** A call that opens a file, with these arguments, begins while served. */
  opening(args: readonly unknown[]): void {
    if (this.session.local === 'tape') this.#opening.add(args)
  }

  /** It has its answer, or is made live. */
  isOver(args: readonly unknown[]): void {
    this.#opening.delete(args)
  }

  /** Bytes were read or written at the descriptor's own position, by the tape's account. */
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

  /** The system's number for a live call. What cannot be used gets one that no file has. */
  real(fd: number): number {
    const descriptor = this.#descriptors.get(fd)
    if (descriptor === undefined) return fd
    if (descriptor.isClosed) return NO_DESCRIPTOR
    return (descriptor.real ??= this.#reopen(fd, descriptor))
  }

  /** The number the agent gets for a file that was opened live. */
  adopt(real: number): number {
    const descriptor = this.#descriptors.get(real)
    if (descriptor?.isClosed === true) this.#descriptors.delete(real)
    else if (descriptor !== undefined || this.#opening.size > 0) {
      const fd = this.#nextVirtual++
      this.#descriptors.set(fd, { ...NOTHING, real, isVirtual: true })
      return fd
    }
    return real
  }

  /** Closed by the agent. Its number from the tape stays taken: a late use must not reach another file. */
  closed(fd: number): void {
    const descriptor = this.#descriptors.get(fd)
    if (descriptor?.isVirtual === true) this.#descriptors.delete(fd)
    else if (descriptor) descriptor.isClosed = true
  }

  /** The number to close, live, for the agent's; it is given up with that. Closing works also where nothing could be opened. */
  close(fd: number): number {
    const descriptor = this.#descriptors.get(fd)
    if (descriptor === undefined) return fd
    const { isClosed, real = NO_DESCRIPTOR } = descriptor
    this.closed(fd)
    return isClosed ? NO_DESCRIPTOR : real !== NO_DESCRIPTOR ? real : disk.openSync(devNull, 'r')
  }

  /** The system's number, if there is one by now. */
  openNumber(fd: number): number | undefined {
    const descriptor = this.#descriptors.get(fd)
    return descriptor?.isClosed === false && descriptor.real !== NO_DESCRIPTOR
      ? descriptor.real
      : undefined
  }

  /** Does in the overlay what the tape did to an open file. */
  repeat(fd: number, name: string, args: readonly unknown[]): void {
    const { overlay } = this.session
    const descriptor = this.#descriptors.get(fd)
    if (overlay === undefined || descriptor === undefined || !overlay.covers(descriptor.path))
      return
    try {
      nativeFunction(`${name}Sync`)(this.real(fd), ...args)
    } catch {
      overlay.unknown.add(descriptor.path)
    }
  }

  /** Something is about to be removed or replaced: what is open there stays usable. */
  openBelow(paths: readonly string[]): void {
    for (const [fd, { path, real, isClosed }] of this.#descriptors)
      if (
        real === undefined &&
        !isClosed &&
        paths.some((filePath) => isBelowFolder(path, filePath))
      )
        this.real(fd)
  }

  /** The tape has renamed something. */
  renamed(from: string, to: string): void {
    for (const descriptor of this.#descriptors.values())
      if (isBelowFolder(descriptor.path, from))
        descriptor.path = to + descriptor.path.slice(from.length)
  }

  #reopen(fd: number, { path, bits, position }: TapeDescriptor): number {
    const { overlay } = this.session
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

/** Above every number a system gives. */
const FIRST_VIRTUAL = 1_000_000

const NOTHING = { path: '', bits: 0, position: 0, isClosed: false }

/** Moves the position of a file by reading: Node has no other way. */
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
