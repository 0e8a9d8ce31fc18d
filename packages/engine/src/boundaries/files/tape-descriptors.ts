import { devNull } from 'node:os'
import { disk } from '../../overlay/disk.js'
import {
  flagBits,
  opensForWriting,
  opensToAppend,
  opensToRead,
  reopeningBits,
} from '../../overlay/open-flags.js'
import { isBelow, Overlay } from '../../overlay/overlay.js'
import { outsideRuns } from '../../scope.js'
import type { Session } from '../../sessions/session.js'
import { NO_DESCRIPTOR } from './file-checks.js'
import { nativeFunction } from './file-natives.js'

/** A descriptor whose number is not, or not surely, that of the system. */
interface Carried {
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
export class CarriedDescriptors {
  readonly #held = new Map<number, Carried>()
  /** Calls that the tape answers with a number which is not known yet, by their arguments. */
  readonly #opening = new Set<readonly unknown[]>()
  #nextVirtual = FIRST_VIRTUAL

  constructor(readonly session: Session) {}

  /** Whether a number may mean something else than the system thinks. */
  get isNeeded(): boolean {
    return this.#held.size > 0 || this.#opening.size > 0
  }

  /** The tape has opened a file; `real` when it was opened in an overlay at once. */
  opened(fd: number, path: string, flags: unknown, real?: number): void {
    isInUse = true
    const bits = flagBits(flags)
    this.#held.set(fd, { path, bits, position: 0, real, isVirtual: false, isClosed: false })
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
    const carried = this.#held.get(fd)
    if (carried === undefined) return
    const { real, bits } = carried
    if (written && opensToAppend(bits)) carried.position = Infinity
    else carried.position += count
    if (!written && real !== undefined) skip(real, count)
  }

  /** The file that the tape opened under this number, and the position of its next read. */
  placeOf(fd: number): { readonly path: string; readonly position: number } | undefined {
    const carried = this.#held.get(fd)
    return carried?.isVirtual === false && !carried.isClosed ? carried : undefined
  }

  /** The system's number for a live call. What cannot be used gets one that no file has. */
  real(fd: number): number {
    const carried = this.#held.get(fd)
    if (carried === undefined) return fd
    if (carried.isClosed) return NO_DESCRIPTOR
    return (carried.real ??= this.#reopen(fd, carried))
  }

  /** The number the agent gets for a file that was opened live. */
  adopt(real: number): number {
    const carried = this.#held.get(real)
    if (carried?.isClosed === true) this.#held.delete(real)
    else if (carried !== undefined || this.#opening.size > 0) {
      const fd = this.#nextVirtual++
      this.#held.set(fd, { ...NOTHING, real, isVirtual: true })
      return fd
    }
    return real
  }

  /** Closed by the agent. Its number from the tape stays taken: a late use must not reach another file. */
  closed(fd: number): void {
    const carried = this.#held.get(fd)
    if (carried?.isVirtual === true) this.#held.delete(fd)
    else if (carried) carried.isClosed = true
  }

  /** The number to close, live, for the agent's; it is given up with that. Closing works also where nothing could be opened. */
  close(fd: number): number {
    const carried = this.#held.get(fd)
    if (carried === undefined) return fd
    const { isClosed, real = NO_DESCRIPTOR } = carried
    this.closed(fd)
    return isClosed ? NO_DESCRIPTOR : real !== NO_DESCRIPTOR ? real : disk.openSync(devNull, 'r')
  }

  /** The system's number, if there is one by now. */
  openNumber(fd: number): number | undefined {
    const carried = this.#held.get(fd)
    return carried?.isClosed === false && carried.real !== NO_DESCRIPTOR ? carried.real : undefined
  }

  /** Does in the overlay what the tape did to an open file. */
  repeat(fd: number, name: string, args: readonly unknown[]): void {
    const { overlay } = this.session
    const carried = this.#held.get(fd)
    if (overlay === undefined || carried === undefined || !overlay.covers(carried.path)) return
    try {
      nativeFunction(`${name}Sync`)(this.real(fd), ...args)
    } catch {
      overlay.unknown.add(carried.path)
    }
  }

  /** Something is about to be removed or replaced: what is open there stays usable. */
  keepOpen(places: readonly string[]): void {
    for (const [fd, { path, real, isClosed }] of this.#held)
      if (real === undefined && !isClosed && places.some((place) => isBelow(path, place)))
        this.real(fd)
  }

  /** The tape has renamed something. */
  renamed(from: string, to: string): void {
    for (const carried of this.#held.values())
      if (isBelow(carried.path, from)) carried.path = to + carried.path.slice(from.length)
  }

  #reopen(fd: number, { path, bits, position }: Carried): number {
    const { overlay } = this.session
    try {
      return outsideRuns(() => {
        const place = overlay?.resolve(path) ?? path
        const at = opensForWriting(bits) ? overlay?.forWriting(place) : overlay?.locate(place).at
        const real = disk.openSync(at ?? place, reopeningBits(bits))
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

const all = new WeakMap<Session, CarriedDescriptors>()
let isInUse = false

/** Whether any run of this process has an overlay or descriptors from a tape. */
export const isCarrying = (): boolean => isInUse || Overlay.isInUse

export function carriedBy(session: Session): CarriedDescriptors {
  const owner = session.owner ?? session
  let carried = all.get(owner)
  if (carried === undefined) all.set(owner, (carried = new CarriedDescriptors(owner)))
  return carried
}
