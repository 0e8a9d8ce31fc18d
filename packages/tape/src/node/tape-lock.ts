import { attempt } from '../values/attempt.js'
import { tapeErrors } from '../format/errors.js'
import {
  closeSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeSync,
} from './native.js'

/**
 * Prevents a second writer of a tape: a file beside it names the process. A lock whose process is
 * gone, for example after a kill, is taken over.
 *
 * Not promised: writers on two machines that share a folder do not see each other.
 */
export class TapeLock {
  readonly #path: string

  private constructor(path: string) {
    this.#path = path
  }

  static take(tape: string): TapeLock {
    const path = `${tape}.lock`
    for (let attempt = 0; attempt < 3; attempt++) {
      if (claim(path)) return new TapeLock(path)
      const owner = readOwner(path)
      if (owner !== undefined && isAlive(owner)) throw tapeErrors.TAPE_IN_USE(tape, owner.pid)
      if (owner !== undefined) takeOver(path, owner)
    }
    throw tapeErrors.TAPE_IN_USE(tape, readOwner(path)?.pid ?? 0)
  }

  release(): void {
    remove(this.#path)
  }

  [Symbol.dispose](): void {
    this.release()
  }
}

/** True if a running process has the lock of a tape. */
export function isLocked(tape: string): boolean {
  const owner = readOwner(`${tape}.lock`)
  return owner !== undefined && isAlive(owner)
}

/**
 * True if the process that has the lock of a tape has the tape open. A lock file alone proves
 * nothing: it can be copied or made up. Only Linux shows the open files of a process; elsewhere the
 * lock must do.
 */
export function isBeingWritten(tape: string): boolean {
  const owner = readOwner(`${tape}.lock`)
  if (owner === undefined || !isAlive(owner)) return false
  return process.platform !== 'linux' || hasOpen(owner.pid, tape)
}

function hasOpen(pid: number, file: string): boolean {
  return attempt(() => {
    const { dev, ino } = statSync(file)
    return readdirSync(`/proc/${pid}/fd`).some((fd) => {
      const found = statSync(`/proc/${pid}/fd/${fd}`, { throwIfNoEntry: false })
      return found?.ino === ino && found.dev === dev
    })
  }, false)
}

interface Owner {
  readonly pid: number
  /** Start time of the process in ticks: distinguishes it from a later one with the same id. */
  readonly started: string
}

/**
 * Removes the lock of a process that is gone. Of several concurrent callers only one may do so, and
 * only while the lock still belongs to that process: a faster caller may have taken it already.
 */
function takeOver(path: string, { pid, started }: Owner): void {
  const turn = TapeLock.take(`${path}.${pid}-${started}`)
  try {
    const owner = readOwner(path)
    if (owner?.pid === pid && owner.started === started) remove(path)
  } finally {
    turn.release()
  }
}

/**
 * A lock is a symbolic link whose target is the owner, not a path: creating it is a single system
 * call, so it never appears without its content.
 */
function claim(path: string): boolean {
  ownStart ??= startOf(process.pid)
  const owner = JSON.stringify({ pid: process.pid, started: ownStart })
  try {
    symlinkSync(owner, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
  }
  return claimWithFile(path, owner)
}

/** For systems that restrict the creation of symbolic links. */
function claimWithFile(path: string, owner: string): boolean {
  const own = `${path}.${process.pid}.${counter++}`
  try {
    const fd = openSync(own, 'w', 0o600)
    writeSync(fd, owner)
    closeSync(fd)
    linkSync(own, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw tapeErrors.TAPE_WRITE_FAILED(path, error)
  } finally {
    remove(own)
  }
}

let counter = 0

/** Not `rmSync`: it calls functions that a recorder has patched. */
function remove(path: string): void {
  try {
    unlinkSync(path)
  } catch {
    // It is gone, or will be taken over when this process is gone.
  }
}

/** Undefined if there is no lock. An empty lock, for example after a power cut, has no owner. */
function readOwner(path: string): Owner | undefined {
  const text = readLock(path)
  if (text === undefined) return undefined
  return attempt(() => JSON.parse(text) as Owner, { pid: 0, started: 'unreadable' })
}

const readLock = (path: string): string | undefined =>
  attempt(() => readlinkSync(path)) ?? attempt(() => readFileSync(path, 'utf8'))

function isAlive({ pid, started }: Owner): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  return started === startOf(pid)
}

let ownStart: string | undefined

/** Start time of a process; empty if the system does not report it. A zombie counts as gone. */
function startOf(pid: number): string {
  const stat = attempt(() => readFileSync(`/proc/${pid}/stat`, 'utf8'), '')
  const [, state, ...fields] = stat.slice(stat.lastIndexOf(')')).split(' ')
  return state === 'Z' || state === 'X' ? 'gone' : (fields[18] ?? '')
}
