import fs from 'node:fs'
import { registerNativeOutput } from '../kernel/natives.js'
import { currentSession } from '../kernel/scope.js'
import { replace, replaceGetter, undoAll, type Undo } from './patching/patch.js'

type StreamName = 'stdout' | 'stderr'

/** stdout and stderr: passed through, and on replay compared with the recorded output. */
export function patchOutput(): Undo {
  return undoAll([patchStream('stdout'), patchStream('stderr'), patchWriteSync()])
}

/** Opens both streams now. Node would open them at first use, possibly in the middle of a run. */
export function openOutput(): void {
  void [process.stdout, process.stderr]
}

/** Patches a stream when the program first uses it, because reading `process.stdout` opens it. */
function patchStream(name: StreamName): Undo {
  const open = Object.getOwnPropertyDescriptor(process, name)?.get ?? (() => process[name])
  const stream = (): NodeJS.WriteStream => open.call(process) as NodeJS.WriteStream
  registerNativeOutput(name, (bytes) => stream().write(bytes))
  let undoWrite: Undo | undefined
  const undoGetter = replaceGetter(process, name, () => {
    const opened = stream()
    undoWrite ??= patchWrite(name, opened)
    return opened
  })
  return () => {
    undoGetter()
    undoWrite?.()
  }
}

function patchWrite(name: StreamName, stream: NodeJS.WriteStream): Undo {
  const write = stream.write.bind(stream) as (chunk: unknown, ...rest: unknown[]) => boolean
  registerNativeOutput(name, (bytes) => write(bytes))
  return replace(stream, 'write', (chunk: unknown, ...rest: unknown[]) => {
    const session = currentSession()
    if (session !== undefined) {
      if (typeof chunk === 'string') {
        const encoding = typeof rest[0] === 'string' ? (rest[0] as BufferEncoding) : 'utf8'
        session.output(name, Buffer.from(chunk, encoding))
      } else if (chunk instanceof Uint8Array) session.output(name, chunk)
    }
    return write(chunk, ...rest)
  })
}

/** `fs.writeSync(1, …)` reaches the same terminal; the file boundary leaves it to this boundary. */
function patchWriteSync(): Undo {
  const native = fs.writeSync as (...args: unknown[]) => number
  return replace(fs, 'writeSync', (fd: number, data: unknown, ...rest: unknown[]) => {
    const session = fd === 1 || fd === 2 ? currentSession() : undefined
    const bytes = session && writtenBytes(data, rest)
    if (bytes) session.output(fd === 1 ? 'stdout' : 'stderr', bytes)
    return native(fd, data, ...rest)
  })
}

/** The part of `data` that is written: a string with its encoding, or a range of a buffer. */
function writtenBytes(data: unknown, rest: unknown[]): Uint8Array | undefined {
  if (typeof data === 'string') return Buffer.from(data, (rest[1] as BufferEncoding) ?? 'utf8')
  if (!ArrayBuffer.isView(data)) return undefined
  const [first, second] = rest
  const range: { offset?: unknown; length?: unknown } | null =
    typeof first === 'object' ? first : { offset: first, length: second }
  const offset = Number(range?.offset ?? 0)
  const length = Number(range?.length ?? data.byteLength - offset)
  return new Uint8Array(data.buffer, data.byteOffset + offset, length)
}
