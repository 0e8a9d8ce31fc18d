import { dirname } from 'node:path'
import {
  type TapeError,
  tapeClosed,
  tapeExists,
  tapeMissing,
  tapeWriteFailed,
} from '../format/errors.js'
import {
  closeSync,
  constants,
  fdatasyncSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  writeSync,
  writevSync,
} from './native.js'

/**
 * A file that only grows by whole records. Any failure poisons it: the file is
 * cut back to its last whole record and every later call throws the same
 * error. A failed sync is never tried again, because the kernel may have
 * dropped the pages and would report success.
 */
export class TapeFile {
  readonly path: string
  readonly #fd: number
  readonly #isDurable: boolean
  #end: number
  #dirty = false
  #syncs = 0
  #dead: TapeError | undefined

  private constructor(path: string, fd: number, end: number, isDurable = true) {
    this.path = path
    this.#fd = fd
    this.#end = end
    this.#isDurable = isDurable
  }

  /** Creates a file that must not exist yet, readable by its owner only. One that is not durable is never synced. */
  static create(path: string, isDurable = true): TapeFile {
    const { O_CREAT, O_EXCL, O_RDWR } = constants
    try {
      const fd = openSync(path, O_RDWR | O_CREAT | O_EXCL, 0o600)
      if (isDurable) syncFolder(dirname(path))
      return new TapeFile(path, fd, 0, isDurable)
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code
      throw code === 'EEXIST' ? tapeExists(path, error) : tapeWriteFailed(path, error)
    }
  }

  /** Opens a file to go on at `end`; what stands behind it is cut off. */
  static continueAt(path: string, end: number): TapeFile {
    let fd: number
    try {
      fd = openSync(path, constants.O_RDWR)
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code
      throw code === 'ENOENT' ? tapeMissing(path, error) : tapeWriteFailed(path, error)
    }
    const file = new TapeFile(path, fd, end)
    file.#dirty = true
    try {
      ftruncateSync(fd, end)
    } catch (error) {
      file.close()
      throw tapeWriteFailed(path, error)
    }
    return file
  }

  /** Offset of the next record. */
  get end(): number {
    return this.#end
  }

  get syncs(): number {
    return this.#syncs
  }

  /** Throws what every call throws once something failed, or the file is closed. */
  check(): void {
    if (this.#dead !== undefined) throw this.#dead
  }

  /** The pieces are in the file when this returns, though maybe not on disk. */
  append(pieces: readonly Uint8Array[]): void {
    this.check()
    this.#dirty = true
    try {
      this.#end += this.#writeAll(pieces)
    } catch (error) {
      throw this.#poison(error)
    }
  }

  /** Everything appended is on disk when this returns, if the file is durable. */
  sync(): void {
    this.check()
    if (!this.#dirty || !this.#isDurable) return
    try {
      fdatasyncSync(this.#fd)
    } catch (error) {
      throw this.#poison(error)
    }
    this.#dirty = false
    this.#syncs++
  }

  close(): void {
    if (this.#dead?.code === 'TAPE_CLOSED') return
    this.#dead = tapeClosed(this.path)
    closeSync(this.#fd)
  }

  #writeAll(pieces: readonly Uint8Array[]): number {
    let written = 0
    for (let rest = pieces; rest.length > 0; rest = withoutFirst(pieces, written)) {
      const [first] = rest
      const count =
        rest.length === 1 && first !== undefined
          ? writeSync(this.#fd, first, 0, first.length, this.#end + written)
          : writevSync(this.#fd, rest, this.#end + written)
      // A full disk shows as a short count first; the next write says why.
      if (count === 0) throw new Error('nothing could be written')
      written += count
      if (rest.length === 1 && count === first?.length) break
    }
    return written
  }

  #poison(cause: unknown): TapeError {
    this.#dead = tapeWriteFailed(this.path, cause)
    try {
      ftruncateSync(this.#fd, this.#end)
    } catch {
      // The torn bytes stay; recovery ignores them.
    }
    return this.#dead
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

/** Makes the new name itself durable, where the system lets us. Windows has no such call and needs none. */
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
    // A folder that may be written but not read, or a file system without this call: record anyway.
  }
}
