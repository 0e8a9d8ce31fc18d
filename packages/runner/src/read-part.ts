import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/** Reads a part of a file, or less at its end. */
export function readPart(file: string, offset: number, length: number): Buffer<ArrayBuffer> {
  const fd = openSync(file, 'r')
  try {
    const part = Buffer.alloc(Math.max(0, Math.min(length, fstatSync(fd).size - offset)))
    return part.subarray(0, readSync(fd, part, 0, part.length, offset))
  } finally {
    closeSync(fd)
  }
}
