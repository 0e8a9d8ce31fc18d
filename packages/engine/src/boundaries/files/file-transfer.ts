import type { Session } from '../../sessions/session.js'
import { describeOptions, encodeOptions } from './file-arguments.js'
import type { Answer, CapturedCall } from '../captured-call.js'
import { descriptorsOf } from './tape-descriptors.js'
import { nameDescriptor, outputDescriptor } from './file-descriptors.js'
import { nativeFunction } from './file-natives.js'
import type { OutputWrite } from './file-output.js'
import { plain } from '../result-form.js'
import { contentOf } from './file-secrets.js'
import { isOwnPosition, readFromTape, wroteFromTape } from './served-call.js'

/** A read or write on a descriptor, ready to be performed; the forms of its arguments are sorted out. */
export interface Transfer {
  readonly fd: number
  readonly call: Omit<CapturedCall, 'name'>
  /** Nothing to do: answered without asking the system. */
  readonly empty: boolean
  /** Does the real thing and gives what goes on tape: bytes read, or a count of bytes written. */
  runSync(): unknown
  start(done: Answer): void
  /** Puts what was read into the agent's buffers; answers how many bytes went through. */
  settle(value: unknown): number
  /** What the agent passed, as callbacks get it back. */
  readonly passed: unknown
  readonly output?: OutputWrite
}

export type View = NodeJS.ArrayBufferView
export type Position = number | bigint | null

interface Read {
  readonly views: readonly View[]
  readonly position: Position
  readonly passed: unknown
}

/** Reads into a buffer of our own: the agent's is filled when the answer reaches it, not before. */
export function reading(session: Session, fd: number, { views, position, passed }: Read): Transfer {
  const targets = views.map(bytesOf)
  const length = targets.reduce((sum, { byteLength }) => sum + byteLength, 0)
  return {
    fd,
    passed,
    empty: length === 0,
    call: {
      kind: 'file',
      title: nameDescriptor(session, fd),
      input: encodeOptions([length, position ?? undefined]),
      form: plain,
      served: (outcome) => readFromTape(session, fd, position, outcome),
      again: () => {
        const opened = descriptorsOf(session).positionOf(fd)
        if (opened === undefined) return undefined
        const from = isOwnPosition(position) ? Number(position) : opened.position
        return contentOf(session, opened.path)?.subarray(from, from + length)
      },
    },
    runSync: () => {
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
    settle: (value) => scatter(value as Uint8Array, targets),
  }
}

function scatter(bytes: Uint8Array, targets: readonly Uint8Array[]): number {
  let from = 0
  for (const target of targets) {
    target.set(bytes.subarray(from, from + target.length))
    from += target.length
  }
  return bytes.length
}

interface Write {
  readonly name: 'write' | 'writev'
  readonly args: readonly unknown[]
  readonly input: CapturedCall['input']
  readonly position: unknown
}

export function writing(
  session: Session,
  fd: number,
  { name, args, input, position }: Write,
): Transfer {
  const output = outputDescriptor(session, fd)
  const real = (): number => output ?? descriptorsOf(session).real(fd)
  const where = typeof position === 'number' ? [position] : []
  return {
    fd,
    passed: args[0],
    empty: false,
    call: {
      kind: 'file',
      title: nameDescriptor(session, fd) + describeOptions(where),
      input,
      form: plain,
      served: (outcome) => wroteFromTape(session, fd, { name, args, position }, outcome),
    },
    runSync: () => nativeFunction(`${name}Sync`)(real(), ...args),
    start: (done) => void nativeFunction(name)(real(), ...args, done),
    settle: (value) => value as number,
    ...(output && { output: { fd: output, bytes: input.body ?? new Uint8Array(0) } }),
  }
}

export const bytesOf = (view: View): Buffer =>
  Buffer.from(view.buffer, view.byteOffset, view.byteLength)
