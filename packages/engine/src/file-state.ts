import type { FileBefore } from '@retake/tape/format'
import type { FileFinding } from './kernel/settle-doubts.js'
import { proofOf } from './secrets/machine-key.js'
import { disk } from './overlay/disk.js'

const TAIL_BYTES = 256
const OVERWRITTEN_MAX = 1_000_000

/**
 * A proof of the content that shows that a file is as it was: the end of the part that the write
 * leaves alone, or the bytes that it overwrites. Undefined without a machine key.
 */
export function contentProof(
  fd: number,
  { at, length, size = 0, isCut }: Pick<FileBefore, 'at' | 'length' | 'size' | 'isCut'>,
  mayCreate = false,
): string | undefined {
  const isOverwritten = isCut !== true && at !== undefined && at < size
  const end = isCut === true ? Math.min(at ?? 0, size) : isOverwritten ? at + length : size
  const from = isOverwritten ? at : Math.max(0, end - TAIL_BYTES)
  if (end - from > OVERWRITTEN_MAX) return undefined
  return proofOf('', bytesAt(fd, from, Math.min(end, size) - from), mayCreate)
}

/**
 * Compares a file with its state before a write. `body`: the bytes of the write as on the tape.
 * Not noticed: another program that wrote exactly the same bytes.
 */
export function lookAtFile(before: FileBefore, body: Uint8Array): FileFinding {
  if (before.isShared === true) return { state: 'shared' }
  let fd: number | undefined
  try {
    fd = disk.openSync(before.path, disk.constants.O_RDONLY | disk.constants.O_NONBLOCK)
    return findingAt(fd, before, body)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT') return { state: 'unreadable', code: String(code) }
    return { state: before.size === undefined ? 'unchanged' : 'changed' }
  } finally {
    if (fd !== undefined) disk.closeSync(fd)
  }
}

function findingAt(fd: number, before: FileBefore, body: Uint8Array): FileFinding {
  const { at, length, isCut } = before
  const { size } = disk.fstatSync(fd)
  const changed = { state: 'changed', size } as const
  const isUntouched = before.size === undefined || contentProof(fd, before) === before.content
  const has = (count: number): boolean => {
    const bytes = bytesAt(fd, at ?? 0, count)
    return before.proof === undefined
      ? bytes.equals(body.subarray(0, count))
      : count === length && proofOf('', bytes, false) === before.proof
  }
  if (isCut === true)
    return isUntouched && (size === before.size || size === at) ? { state: 'unchanged' } : changed
  const isSame = size === before.size && isUntouched
  if (at === undefined) {
    if (size === length && has(length)) return { state: 'complete' }
    if (isSame) return { state: 'unchanged' }
    return size < length && has(size) ? { state: 'partial', written: size } : changed
  }
  const { size: earlier = 0 } = before
  const isBehind = at < earlier || isUntouched
  if (size === Math.max(earlier, at + length) && isBehind && has(length))
    return { state: 'complete' }
  if (isSame) return { state: 'unchanged' }
  const written = size - at
  return at >= earlier && written >= 0 && written < length && isUntouched && has(written)
    ? { state: 'partial', written }
    : changed
}

function bytesAt(fd: number, from: number, count: number): Buffer {
  const buffer = Buffer.allocUnsafeSlow(Math.max(0, count))
  let read = 0
  while (read < buffer.length) {
    const more = disk.readSync(fd, buffer, read, buffer.length - read, from + read)
    if (more === 0) break
    read += more
  }
  return buffer.subarray(0, read)
}

/** Writes the bytes that are missing after `written` of them. */
export function finishWrite({ path, at = 0 }: FileBefore, body: Uint8Array, written: number): void {
  const fd = disk.openSync(path, 'r+')
  try {
    for (let done = written; done < body.length;)
      done += disk.writeSync(fd, body, done, body.length - done, at + done)
  } finally {
    disk.closeSync(fd)
  }
}
