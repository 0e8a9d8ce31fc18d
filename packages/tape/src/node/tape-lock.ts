import { attempt } from '../format/values/attempt.js'
import { tapeErrors } from '../format/errors.js'
import type { RunEvent, TapeCreator } from '../format/events.js'
import {
  closeSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeSync,
} from './native.js'

/**
 * Prevents a second writer of a tape. On Linux, the run record names the process that creates the
 * tape, and its open file proves that it still writes. Everything else takes a lock: a link beside
 * the tape that names the process. A lock whose process is gone, for example after a kill, is taken
 * over.
 *
 * New tapes need no lock file of their own because a server records thousands of them: ext4 slows
 * down when many files are created and deleted.
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
      if (claim(path)) {
        const creator = readCreator(tape)
        if (creator === undefined || !isWriting(creator, tape)) return new TapeLock(path)
        remove(path)
        throw tapeErrors.TAPE_IN_USE(tape, creator.pid)
      }
      const owner = readOwner(path)
      if (owner !== undefined && isAlive(owner)) throw tapeErrors.TAPE_IN_USE(tape, owner.pid)
      if (owner !== undefined) {
        // Removes the lock of a process that is gone. Of several concurrent callers only one may do
        // so, and only while the lock still belongs to that process: a faster caller may have taken
        // it already.
        const { pid, started } = owner
        const turn = TapeLock.take(`${path}.${pid}-${started}`)
        try {
          const owner = readOwner(path)
          if (owner?.pid === pid && owner.started === started) remove(path)
        } finally {
          turn.release()
        }
      }
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

/** Only Linux shows the open files of a process. */
const seesOpenFiles = process.platform === 'linux'

/** Names this process in the run record of a tape that it creates. */
export const creatorOf = (fd: number): TapeCreator | undefined =>
  seesOpenFiles ? { ...self(), fd } : undefined

/**
 * True if a running process writes a tape: the one that created it, or the one that has its lock.
 * A name alone proves nothing, because run records and locks can be copied or made up: on Linux, the
 * process must also have the tape open.
 */
export function isBeingWritten(tape: string): boolean {
  return [readOwner(`${tape}.lock`), readCreator(tape)].some(
    (owner) => owner !== undefined && isWriting(owner, tape),
  )
}

/** A process that may not be examined counts as writing while it is alive. */
function isWriting(owner: Owner, tape: string): boolean {
  if (!isAlive(owner)) return false
  if (!seesOpenFiles) return true
  const { pid, fd } = owner
  const folder = `/proc/${pid}/fd`
  try {
    const { dev, ino } = statSync(tape)
    return (fd === undefined ? readdirSync(folder) : [fd]).some((name) => {
      const found = statSync(`${folder}/${name}`, { throwIfNoEntry: false })
      return found?.ino === ino && found.dev === dev
    })
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES'
  }
}

/** The process that created a tape; undefined if its run record does not name one. */
function readCreator(tape: string): TapeCreator | undefined {
  return attempt(() => {
    const fd = openSync(tape, 'r')
    try {
      const start = Buffer.alloc(RUN_RECORD_BYTES_MAX)
      const text = start.toString('latin1', 0, readSync(fd, start, 0, start.length, 0))
      return (JSON.parse(text.slice(0, text.indexOf('\t'))) as RunEvent).creator
    } finally {
      closeSync(fd)
    }
  })
}

const RUN_RECORD_BYTES_MAX = 16_384

type Owner = Pick<TapeCreator, 'pid' | 'started'> & Partial<TapeCreator>

/**
 * A lock is a symbolic link whose target is the owner, not a path: creating it is a single system
 * call, so it never appears without its content.
 */
function claim(path: string): boolean {
  const owner = JSON.stringify(self())
  try {
    symlinkSync(owner, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
  }
  // For systems that restrict the creation of symbolic links.
  const own = `${path}.${PID}.${counter++}`
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
  const text = attempt(() => readlinkSync(path)) ?? attempt(() => readFileSync(path, 'utf8'))
  if (text === undefined) return undefined
  return attempt(() => JSON.parse(text) as Owner, { pid: 0, started: 'unreadable' })
}

function isAlive({ pid, started }: Owner): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  return started === startOf(pid)
}

/** Read when this module loads: inside a run, `process.pid` is a recorded value. */
const PID = process.pid

let ownStart: string | undefined

const self = (): Owner => ({ pid: PID, started: (ownStart ??= startOf(PID)) })

/** Start time of a process; empty if the system does not report it. A zombie counts as gone. */
function startOf(pid: number): string {
  const stat = attempt(() => readFileSync(`/proc/${pid}/stat`, 'utf8'), '')
  const [, state, ...fields] = stat.slice(stat.lastIndexOf(')')).split(' ')
  return state === 'Z' || state === 'X' ? 'gone' : (fields[18] ?? '')
}
