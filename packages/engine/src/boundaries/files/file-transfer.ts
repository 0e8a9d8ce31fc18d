import { encodeBody } from '@retake/tape/format'
import type { Session } from '../../kernel/session.js'
import { plain, type Encoded } from '../patching/captured-call.js'
import { fileContentOf, describeOptions, encodeOptions } from './file-call.js'
import { nameDescriptor, outputDescriptor } from './file-call.js'
import { bytesOf, encodeData, isDescriptor, NO_DESCRIPTOR, tryOut } from './file-functions.js'
import { nativeFunction } from './file-natives.js'
import type { FileWork } from './file-work.js'
import { FileWrite, movePosition } from './file-write.js'
import { isOwnPosition, trackServedRead, trackServedWrite } from './served-call.js'
import { descriptorsOf } from './tape-descriptors.js'

type View = NodeJS.ArrayBufferView
type Position = number | bigint | null
type PlanTransfer = (session: Session, label: string, fd: unknown, rest: unknown[]) => FileWork

/** Reads and writes on descriptors, recorded as `label`. `rest` are the arguments after the descriptor. */
export const transfers: Readonly<Record<'read' | 'readv' | 'write' | 'writev', PlanTransfer>> = {
  read: (session, label, fd, rest) => {
    if (!isView(rest[0]) && rest[0] !== undefined && typeof rest[0] !== 'object')
      refuse('readSync', fd, rest)
    const { buffer, offset, length, position } = spanOf(rest)
    const isUsual =
      isDescriptor(fd) &&
      isView(buffer) &&
      isSpan(offset, length, buffer) &&
      (position === null || typeof position === 'number' || typeof position === 'bigint')
    if (!isUsual || (buffer.byteLength === 0 && length > 0))
      refuse('readSync', fd, [buffer, offset, length, position])
    const target = bytesOf(buffer).subarray(offset, offset + length)
    return reading(session, label, fd as number, { views: [target], position, passed: buffer })
  },
  readv: (session, label, fd, rest) => {
    const [buffers, position] = rest
    if (!isDescriptor(fd) || !isViews(buffers)) refuse('readvSync', fd, rest)
    return reading(session, label, fd as number, {
      views: buffers as View[],
      position: typeof position === 'number' ? position : null,
      passed: buffers,
    })
  },
  write: (session, label, fd, rest) => {
    const [data, second] = rest
    if (typeof data === 'string') {
      const encoding = (rest[2] ?? 'utf8') as BufferEncoding
      if (!isDescriptor(fd) || !Buffer.isEncoding(encoding)) refuse('writeSync', fd, rest)
      const input = encodeData(data, encoding)
      const args = rest.slice(0, 3)
      return writing(session, label, fd as number, { name: 'write', args, input, position: second })
    }
    const { buffer, offset, length, position } = spanOf(rest)
    if (!isDescriptor(fd) || !isView(data) || !isSpan(offset, length, buffer))
      refuse('writeSync', fd, rest)
    const input = encodeBody(bytesOf(buffer).subarray(offset, offset + length))
    const args = [buffer, offset, length, position]
    return writing(session, label, fd as number, { name: 'write', args, input, position })
  },
  writev: (session, label, fd, rest) => {
    const [buffers, position] = rest
    if (!isDescriptor(fd) || !isViews(buffers)) refuse('writevSync', fd, rest)
    const input = encodeBody(Buffer.concat((buffers as View[]).map(bytesOf)))
    const args = [buffers, position]
    return writing(session, label, fd as number, { name: 'writev', args, input, position })
  },
}

interface Span {
  readonly buffer: View
  readonly offset: number
  readonly length: number
  readonly position: Position
}

/** `buffer, offset, length, position`, or an object with these names; undefined and null mean the default. */
function spanOf([first, second, third, fourth]: readonly unknown[]): Span {
  const named =
    typeof second === 'object' ? second : { offset: second, length: third, position: fourth }
  const given = isView(first) ? { buffer: first, ...named } : first
  const isGiven = ([, value]: [string, unknown]): boolean => value !== undefined && value !== null
  const options = Object.fromEntries(Object.entries(given ?? {}).filter(isGiven)) as Partial<Span>
  const { buffer = Buffer.alloc(16_384), offset = 0, position = null } = options
  return { buffer, offset, position, length: options.length ?? buffer.byteLength - offset }
}

/** Throws Node's error for unusual arguments, if any. */
function refuse(name: string, fd: unknown, rest: readonly unknown[]): void {
  tryOut(() => nativeFunction(name)(isDescriptor(fd) ? NO_DESCRIPTOR : fd, ...rest))
}

const isView = (value: unknown): value is View => ArrayBuffer.isView(value)

const isViews = (value: unknown): boolean => Array.isArray(value) && value.every(isView)

const isSpan = (offset: unknown, length: unknown, buffer: View): boolean =>
  isDescriptor(offset) && isDescriptor(length) && offset + length <= buffer.byteLength

interface Read {
  readonly views: readonly View[]
  readonly position: Position
  readonly passed: unknown
}

/** Reads into a private buffer; the agent's buffer is filled when the answer is delivered. */
function reading(
  session: Session,
  label: string,
  fd: number,
  { views, position, passed }: Read,
): FileWork {
  const targets = views.map(bytesOf)
  const length = targets.reduce((sum, { byteLength }) => sum + byteLength, 0)
  return {
    passed,
    isEmpty: length === 0,
    call: () => ({
      kind: 'file',
      name: label,
      title: nameDescriptor(session, fd),
      input: encodeOptions([length, position ?? undefined]),
      form: plain,
      served: (outcome) => trackServedRead(session, fd, position, outcome),
      again: () => {
        const opened = descriptorsOf(session).positionOf(fd)
        if (opened === undefined) return undefined
        const from = isOwnPosition(position) ? Number(position) : opened.position
        return fileContentOf(session, opened.path)?.subarray(from, from + length)
      },
    }),
    run: () => {
      const buffer = Buffer.allocUnsafeSlow(length)
      const real = descriptorsOf(session).real(fd)
      const count = nativeFunction('readSync')(real, buffer, 0, length, position) as number
      return buffer.subarray(0, count)
    },
    start: (done) => {
      const buffer = Buffer.allocUnsafeSlow(length)
      const real = descriptorsOf(session).real(fd)
      nativeFunction('read')(real, buffer, 0, length, position, (error: unknown, count: number) =>
        done(error, buffer.subarray(0, count)),
      )
    },
    settle: (value) => {
      const bytes = value as Uint8Array
      if (!isOwnPosition(position)) movePosition(session, fd, bytes.length)
      let from = 0
      for (const target of targets) {
        target.set(bytes.subarray(from, from + target.length))
        from += target.length
      }
      return bytes.length
    },
  }
}

interface Write {
  readonly name: 'write' | 'writev'
  readonly args: readonly unknown[]
  readonly input: Encoded
  readonly position: unknown
}

function writing(
  session: Session,
  label: string,
  fd: number,
  { name, args, input, position }: Write,
): FileWork {
  const output = outputDescriptor(session, fd)
  const real = (): number => output ?? descriptorsOf(session).real(fd)
  const bytes = input.body ?? new Uint8Array(0)
  return {
    passed: args[0],
    call: () => ({
      kind: 'file',
      name: label,
      title:
        nameDescriptor(session, fd) +
        describeOptions(typeof position === 'number' ? [position] : []),
      input,
      form: plain,
      served: (outcome) => trackServedWrite(session, fd, { name, args, position }, outcome),
    }),
    run: () => nativeFunction(`${name}Sync`)(real(), ...args),
    start: (done) => void nativeFunction(name)(real(), ...args, done),
    write: output ? undefined : FileWrite.at(session, fd, bytes.length, position),
    settle: (value) => {
      if (!isOwnPosition(position)) movePosition(session, fd, value as number)
      return value
    },
    ...(output && { output: { fd: output, bytes, value: bytes.length } }),
  }
}
