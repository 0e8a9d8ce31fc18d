import net from 'node:net'
import { replace, type Undo, undoAll } from '@retake/engine/hook'
import { currentBounds } from '../current-bounds.js'
import { checkWrite, isWatched } from './watched-sockets.js'

type Write = (this: net.Socket, ...args: unknown[]) => unknown

/**
 * What guarded calls write, and what is written to connections they have opened. A
 * connection from a pool was not opened by the call that uses it: it is judged here.
 */
export function patchSocketWrites(): Undo {
  return undoAll([patchWriter('write'), patchWriter('end')])
}

function patchWriter(name: 'write' | 'end'): Undo {
  const native = net.Socket.prototype[name] as Write
  return replace(net.Socket.prototype, name, function (this: net.Socket, ...args: unknown[]) {
    const bounds = currentBounds()
    if (bounds.length === 0 && !isWatched(this)) return native.apply(this, args)
    const bytes = bytesOf(args)
    if (bytes === undefined) return native.apply(this, args)
    try {
      checkWrite(bounds, this, bytes)
    } catch (error) {
      const callback = args.find((each) => typeof each === 'function') as
        | ((error: unknown) => void)
        | undefined
      this.destroy(error as Error)
      if (callback) process.nextTick(callback, error)
      return name === 'end' ? this : false
    }
    return native.apply(this, args)
  })
}

function bytesOf([chunk, encoding]: readonly unknown[]): Uint8Array | undefined {
  if (typeof chunk === 'string')
    return Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8')
  return ArrayBuffer.isView(chunk)
    ? new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    : undefined
}
