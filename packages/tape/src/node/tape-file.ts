import { attempt } from '../format/values/attempt.js'
import { dirname } from 'node:path'
import { type TapeError, tapeErrors } from '../format/errors.js'
import type { Durability } from '../format/events.js'
import {
  closeSync,
  constants,
  fdatasync,
  fdatasyncSync,
  fsync,
  fsyncSync,
  ftruncateSync,
  openSync,
  writeSync,
  writevSync,
} from './native.js'

/**
 * A file that only grows by whole records. Any failure poisons it: the file is cut back to its last
 * whole record, and every later call throws the same error. A failed sync is never retried, because
 * the kernel may have dropped the pages and would report success.
 */
export class TapeFile {
  readonly path: string
  readonly fd: number
  readonly #durability: Durability
  #end: number
  /** Everything before this offset is on disk; -1 if even the file length is not. */
  #synced: number
  /** True if the name of the file is known to be on disk: a previous creator may have been killed before that. */
  #isNamed = false
  #isSyncing = false
  #waiting: { readonly end: number; readonly settle: (failure?: TapeError) => void }[] = []
  #syncs = 0
  #failure: TapeError | undefined
  #isClosed = false

  private constructor(
    path: string,
    fd: number,
    { end, synced, durability }: { end: number; synced: number; durability: Durability },
  ) {
    this.path = path
    this.fd = fd
    this.#end = end
    this.#synced = synced
    this.#durability = durability
  }

  /** Creates a file that must not exist yet, readable by its owner only. */
  static create(path: string, durability: Durability): TapeFile {
    const { O_CREAT, O_EXCL, O_RDWR } = constants
    try {
      const fd = openSync(path, O_RDWR | O_CREAT | O_EXCL, 0o600)
      return new TapeFile(path, fd, { end: 0, synced: 0, durability })
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code
      throw code === 'EEXIST'
        ? tapeErrors.TAPE_EXISTS(path, error)
        : tapeErrors.TAPE_WRITE_FAILED(path, error)
    }
  }

  /** Opens a file to continue at `end`; cuts off everything after it. */
  static continueAt(path: string, end: number, durability: Durability): TapeFile {
    let fd: number
    try {
      fd = openSync(path, constants.O_RDWR)
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code
      throw code === 'ENOENT'
        ? tapeErrors.TAPE_MISSING(path, error)
        : tapeErrors.TAPE_WRITE_FAILED(path, error)
    }
    const file = new TapeFile(path, fd, { end, synced: -1, durability })
    try {
      ftruncateSync(fd, end)
    } catch (error) {
      file.close()
      throw tapeErrors.TAPE_WRITE_FAILED(path, error)
    }
    return file
  }

  get end(): number {
    return this.#end
  }

  get syncs(): number {
    return this.#syncs
  }

  /** Throws the error of all further calls after a failure, or if the file is closed. */
  check(): void {
    if (this.#isClosed) throw tapeErrors.TAPE_CLOSED(this.path)
    if (this.#failure !== undefined) throw this.#failure
  }

  /** Writes the pieces to the file, but not necessarily to disk. */
  append(pieces: readonly Uint8Array[]): void {
    this.check()
    try {
      let written = 0
      for (let rest = pieces; rest.length > 0; rest = withoutFirst(pieces, written)) {
        const [first] = rest
        const count =
          rest.length === 1 && first !== undefined
            ? writeSync(this.fd, first, 0, first.length, this.#end + written)
            : writevSync(this.fd, rest, this.#end + written)
        // A full disk first causes a short write; the next one fails with the reason.
        if (count === 0) throw new Error('nothing could be written')
        written += count
        if (rest.length === 1 && count === first?.length) break
      }
      this.#end += written
    } catch (error) {
      throw this.#poison(error)
    }
  }

  /** Makes everything appended as durable as the file promises. */
  sync(): void {
    this.check()
    if (this.#isDurable) return
    try {
      if (!this.#isNamed) syncFolder(dirname(this.path))
      fdatasyncSync(this.fd)
    } catch (error) {
      throw this.#poison(error)
    }
    this.#wasSynced(this.#end)
  }

  /**
   * Like `sync`, without blocking the event loop: calls `then` when everything appended so far is
   * on disk, or with the failure. Everything appended during one sync shares the next one.
   */
  syncLater(then: (failure?: TapeError) => void): void {
    this.check()
    if (this.#isDurable) return then()
    this.#waiting.push({ end: this.#end, settle: then })
    if (!this.#isSyncing) this.#syncNow()
  }

  /** Completes pending syncs first. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    if (!this.#isSyncing) closeSync(this.fd)
  }

  get #isDurable(): boolean {
    return this.#durability === 'process' || this.#synced === this.#end
  }

  #wasSynced(end: number): void {
    this.#isNamed = true
    this.#synced = Math.max(this.#synced, end)
    this.#syncs++
  }

  #syncNow(): void {
    this.#isSyncing = true
    const end = this.#end
    const syncFile = (): void => fdatasync(this.fd, (error) => this.#syncEnded(end, error))
    if (this.#isNamed) syncFile()
    else syncFolderLater(dirname(this.path), syncFile)
  }

  #syncEnded(end: number, error: Error | null): void {
    this.#isSyncing = false
    if (error === null) this.#wasSynced(end)
    const failure = error === null ? undefined : this.#poison(error)
    const isSettled = (one: { readonly end: number }): boolean =>
      failure !== undefined || one.end <= this.#synced
    const settled = this.#waiting.filter(isSettled)
    this.#waiting = this.#waiting.filter((one) => !isSettled(one))
    if (this.#waiting.length > 0) this.#syncNow()
    else if (this.#isClosed) closeSync(this.fd)
    for (const { settle } of settled) settle(failure)
  }

  #poison(cause: unknown): TapeError {
    this.#failure = tapeErrors.TAPE_WRITE_FAILED(this.path, cause)
    // If this fails too, the torn bytes stay; recovery ignores them.
    attempt(() => ftruncateSync(this.fd, this.#end))
    return this.#failure
  }
}

function withoutFirst(pieces: readonly Uint8Array[], count: number): readonly Uint8Array[] {
  const rest: Uint8Array[] = []
  let skip = count
  for (const piece of pieces) {
    if (skip < piece.length) rest.push(piece.subarray(skip))
    skip = Math.max(0, skip - piece.length)
  }
  return rest
}

/** Makes the new name durable, if the system allows it. Windows has no such call and needs none. */
function syncFolder(path: string): void {
  if (process.platform === 'win32') return
  try {
    const fd = openSync(path, 'r')
    try {
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
  } catch {
    // The folder can be written but not read, or the file system lacks this call: record anyway.
  }
}

/** Like `syncFolder`, without blocking the event loop. */
function syncFolderLater(path: string, then: () => void): void {
  if (process.platform === 'win32') return then()
  const fd = attempt(() => openSync(path, 'r'))
  if (fd === undefined) return then()
  fsync(fd, () => {
    closeSync(fd)
    then()
  })
}
