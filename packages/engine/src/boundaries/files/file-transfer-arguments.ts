import { encodeBody } from '@retake/tape/format'
import type { Session } from '../../sessions/session.js'
import { encodeData } from './file-data.js'
import { isDescriptor, NO_DESCRIPTOR, tryOut } from './file-checks.js'
import { nativeFunction } from './file-natives.js'
import { bytesOf, reading, writing } from './file-transfer.js'
import type { Position, Transfer, View } from './file-transfer.js'

export type ParseTransfer = (session: Session, fd: unknown, rest: readonly unknown[]) => Transfer

/** The arguments of `read`, `readSync` and `FileHandle.read`, after the descriptor. */
export function parseRead(session: Session, fd: unknown, rest: readonly unknown[]): Transfer {
  if (!isView(rest[0]) && !isOptions(rest[0])) refuse('readSync', fd, rest)
  const options = readOptions(rest)
  const { buffer = Buffer.alloc(16_384), position = null } = options
  const { offset = 0, length = buffer.byteLength - offset } = options
  const usual =
    isDescriptor(fd) && isView(buffer) && isSpan(offset, length, buffer) && isPosition(position)
  if (!usual || (buffer.byteLength === 0 && length > 0)) {
    refuse('readSync', fd, [buffer, offset, length, position])
  }
  const target = bytesOf(buffer).subarray(offset, offset + length)
  return reading(session, fd as number, { views: [target], position, passed: buffer })
}

interface ReadOptions {
  readonly buffer?: View
  readonly offset?: number
  readonly length?: number
  readonly position?: Position
}

function readOptions(rest: readonly unknown[]): ReadOptions {
  const [first, second, length, position] = rest
  if (!ArrayBuffer.isView(first)) return defined(first as object)
  const buffer = first as View
  if (typeof second === 'object') return { buffer, ...defined(second) }
  return { buffer, ...defined({ offset: second, length, position }) }
}

/** Without properties that are undefined or null: both mean the default. */
function defined(options: object | null | undefined): object {
  return Object.fromEntries(
    Object.entries(options ?? {}).filter(([, value]) => value !== undefined && value !== null),
  )
}

export function parseReadv(session: Session, fd: unknown, rest: readonly unknown[]): Transfer {
  const [buffers, position] = rest
  if (!isDescriptor(fd) || !isViews(buffers)) refuse('readvSync', fd, rest)
  const read = {
    views: buffers as View[],
    position: typeof position === 'number' ? position : null,
    passed: buffers,
  }
  return reading(session, fd as number, read)
}

/** The arguments of `write`, `writeSync` and `FileHandle.write`, after the descriptor. */
export function parseWrite(session: Session, fd: unknown, rest: readonly unknown[]): Transfer {
  const [data, second] = rest
  if (typeof data === 'string') {
    const encoding = (rest[2] ?? 'utf8') as BufferEncoding
    if (!isDescriptor(fd) || !Buffer.isEncoding(encoding)) refuse('writeSync', fd, rest)
    const input = encodeData(data, encoding)
    const args = rest.slice(0, 3)
    return writing(session, fd as number, { name: 'write', args, input, position: second })
  }
  const options: ReadOptions =
    typeof second === 'object'
      ? defined(second)
      : defined({ offset: second, length: rest[2], position: rest[3] })
  const buffer = data as View
  const { offset = 0, position = null } = options
  const { length = (buffer?.byteLength ?? 0) - offset } = options
  if (!isDescriptor(fd) || !isView(buffer) || !isSpan(offset, length, buffer)) {
    refuse('writeSync', fd, rest)
  }
  const input = encodeBody(bytesOf(buffer).subarray(offset, offset + length))
  const args = [buffer, offset, length, position]
  return writing(session, fd as number, { name: 'write', args, input, position })
}

export function parseWritev(session: Session, fd: unknown, rest: readonly unknown[]): Transfer {
  const [buffers, position] = rest
  if (!isDescriptor(fd) || !isViews(buffers)) refuse('writevSync', fd, rest)
  const input = encodeBody(Buffer.concat((buffers as View[]).map(bytesOf)))
  const args = [buffers, position]
  return writing(session, fd as number, { name: 'writev', args, input, position })
}

/** Arguments that are not usual: throws what Node throws for them, if it does. */
function refuse(name: string, fd: unknown, rest: readonly unknown[]): void {
  tryOut(() => nativeFunction(name)(isDescriptor(fd) ? NO_DESCRIPTOR : fd, ...rest))
}

const isOptions = (value: unknown): boolean => value === undefined || typeof value === 'object'

const isView = (value: unknown): boolean => ArrayBuffer.isView(value)

const isViews = (value: unknown): boolean => Array.isArray(value) && value.every(isView)

const isSpan = (offset: unknown, length: unknown, buffer: View): boolean =>
  isDescriptor(offset) && isDescriptor(length) && offset + length <= buffer.byteLength

const isPosition = (position: unknown): boolean =>
  position === null || typeof position === 'number' || typeof position === 'bigint'
