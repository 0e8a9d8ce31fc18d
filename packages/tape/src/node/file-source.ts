import { Buffer } from 'node:buffer'
import type { ByteSource } from '../format/platform.js'
import { tapeErrors } from '../format/errors.js'
import { closeSync, fstatSync, openSync, readSync } from './native.js'

/** Files up to this size are read completely, so that no file stays open. */
const WHOLE_MAX_BYTES = 4 << 20

const openFiles = new FinalizationRegistry<number>((fd) => closeSync(fd))

/**
 * The bytes of a file, with its length at the time it was opened. A large file stays open until the
 * source is garbage-collected.
 */
export function openFileSource(path: string): ByteSource {
  const fd = openForReading(path)
  let staysOpen = false
  try {
    const stat = fstatSync(fd)
    if (stat.isDirectory()) throw tapeErrors.TAPE_IS_DIRECTORY(path)
    staysOpen = stat.size > WHOLE_MAX_BYTES
    if (staysOpen) return new FileSource(fd, stat.size, path)
    const bytes = readFully(fd, 0, stat.size, path)
    return { size: bytes.length, read: (offset, length) => bytes.subarray(offset, offset + length) }
  } finally {
    if (!staysOpen) closeSync(fd)
  }
}

class FileSource implements ByteSource {
  constructor(
    private readonly fd: number,
    readonly size: number,
    private readonly path: string,
  ) {
    openFiles.register(this, fd)
  }

  read(offset: number, length: number): Uint8Array {
    return readFully(this.fd, offset, Math.min(length, this.size - offset), this.path)
  }
}

function openForReading(path: string): number {
  try {
    return openSync(path, 'r')
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT' || code === 'ENOTDIR') throw tapeErrors.TAPE_MISSING(path, error)
    if (code === 'EISDIR') throw tapeErrors.TAPE_IS_DIRECTORY(path)
    throw tapeErrors.TAPE_UNREADABLE(path, error)
  }
}

/** Reads until there are `length` bytes or the file ends. */
export function readFully(fd: number, offset: number, length: number, path: string): Uint8Array {
  const bytes = Buffer.allocUnsafeSlow(Math.max(0, length))
  let filled = 0
  try {
    while (filled < length) {
      const read = readSync(fd, bytes, filled, Math.min(length - filled, 1 << 30), offset + filled)
      if (read === 0) break
      filled += read
    }
  } catch (error) {
    throw tapeErrors.TAPE_UNREADABLE(path, error)
  }
  return filled === length ? bytes : bytes.subarray(0, filled)
}
