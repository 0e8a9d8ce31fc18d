import fs from 'node:fs'
import { keepNativeOutput } from '../natives.js'
import { currentSession } from '../scope.js'
import { replace, undoAll } from './patch.js'
import type { Undo } from './patch.js'

type StreamName = 'stdout' | 'stderr'

/** stdout and stderr: passed on as they are, and on replay compared with what was written then. */
export function patchOutput(): Undo {
  return undoAll([patchStream('stdout'), patchStream('stderr'), patchDescriptorWrites()])
}

function patchStream(name: StreamName): Undo {
  const stream = process[name]
  const write = stream.write.bind(stream) as (chunk: unknown, ...rest: unknown[]) => boolean
  keepNativeOutput(name, (bytes) => write(bytes))
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

/** `fs.writeSync(1, …)` reaches the same terminal. Other descriptors are the file boundary's business. */
function patchDescriptorWrites(): Undo {
  const nativeWriteSync = fs.writeSync as (...args: unknown[]) => number
  return replace(fs, 'writeSync', (fd: number, data: unknown, ...rest: unknown[]) => {
    const session = fd === 1 || fd === 2 ? currentSession() : undefined
    if (session !== undefined) {
      const bytes = typeof data === 'string' ? Buffer.from(data) : (data as Uint8Array)
      session.output(fd === 1 ? 'stdout' : 'stderr', bytes)
    }
    return nativeWriteSync(fd, data, ...rest)
  })
}
