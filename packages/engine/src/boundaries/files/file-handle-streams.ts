import fs from 'node:fs'
import type { ReadStream, WriteStream } from 'node:fs'
import type { TapeFileHandle } from './file-handle.js'

type Done = (error: unknown, count?: number, passed?: unknown) => void

/** A stream over an open handle: it reads through the handle, and closes when the handle does. */
export function readStreamOf(handle: TapeFileHandle, options: object = {}): ReadStream {
  const Stream = fs.ReadStream as unknown as new (path: undefined, options: object) => ReadStream
  return attach(handle, new Stream(undefined, streamOptions(handle, options)))
}

export function writeStreamOf(handle: TapeFileHandle, options: object = {}): WriteStream {
  const Stream = fs.WriteStream as unknown as new (path: undefined, options: object) => WriteStream
  return attach(handle, new Stream(undefined, streamOptions(handle, options)))
}

function streamOptions(handle: TapeFileHandle, options: object): object {
  return { ...options, fd: handle.fd, fs: operationsOf(handle) }
}

function attach<S extends ReadStream | WriteStream>(handle: TapeFileHandle, stream: S): S {
  handle.addUser()
  handle.on('close', stream.close.bind(stream))
  return stream
}

/** What a file stream needs of `fs`. */
function operationsOf(handle: TapeFileHandle) {
  return {
    open: (): never => {
      throw new Error('The open() method is not implemented')
    },
    close: (_fd: number, done: Done) => {
      handle.release()
      handle.close().then(() => done(null), done)
    },
    fsync: (_fd: number, done: Done) => {
      handle.sync().then(() => done(null), done)
    },
    read: (_fd: number, buffer: Buffer, offset: number, length: number, at: number, done: Done) => {
      handle.read(buffer, offset, length, at).then(
        ({ bytesRead }) => done(null, bytesRead, buffer),
        (error: unknown) => done(error, 0, buffer),
      )
    },
    write: (_fd: number, data: Buffer, offset: number, length: number, at: number, done: Done) => {
      handle.write(data, offset, length, at).then(
        ({ bytesWritten }) => done(null, bytesWritten, data),
        (error: unknown) => done(error, 0, data),
      )
    },
    writev: (_fd: number, buffers: Buffer[], at: number, done: Done) => {
      handle.writev(buffers, at).then(
        ({ bytesWritten }) => done(null, bytesWritten, buffers),
        (error: unknown) => done(error, 0, buffers),
      )
    },
  }
}

/** `FileHandle.readableWebStream`: always a stream of bytes. */
export function webStreamOf(
  handle: TapeFileHandle,
  options: { readonly autoClose?: boolean } = {},
): ReadableStream {
  let released = false
  const release = async (): Promise<void> => {
    if (!released) handle.release()
    released = true
    if (options.autoClose === true) await handle.close()
  }
  const stream = new ReadableStream({
    type: 'bytes',
    autoAllocateChunkSize: 16_384,
    async pull(controller) {
      const view = controller.byobRequest?.view as Uint8Array
      const { bytesRead } = await handle.read(view, 0, view.byteLength)
      if (bytesRead === 0) {
        controller.close()
        await release()
      }
      controller.byobRequest?.respond(bytesRead)
    },
    cancel: release,
  })
  handle.addUser()
  handle.once('close', () => {
    if (!stream.locked) void stream.cancel()
  })
  return stream
}
