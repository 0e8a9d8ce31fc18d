import { EventEmitter } from 'node:events'
import fs, { type ReadStream, type WriteStream } from 'node:fs'
import { createInterface, type Interface } from 'node:readline'
import { promisify } from 'node:util'
import { currentCheck, currentSession, outsideRuns } from '../../kernel/scope.js'
import type { Session } from '../../kernel/session.js'
import { bytesOf, encodingOf } from './file-functions.js'
import { nativeFunction } from './file-natives.js'
import { transfers } from './file-transfer.js'
import { promiseWork, tableWork } from './file-work.js'
import { unrecordedFileSession } from './unrecorded-session.js'

type Done = (error: unknown, count?: number, passed?: unknown) => void

/**
 * Result of `fs.promises.open` inside a run, in record and replay: a descriptor with the methods of
 * Node's `FileHandle`. Not an instance of Node's class, which is not public. Cannot be sent to a
 * worker.
 */
export class TapeFileHandle extends EventEmitter {
  readonly #session: Session
  #fd: number
  /** Reference count: the handle itself, its streams and its pending calls. At 0 it closes. */
  #users = 1
  #closing: Deferred | undefined

  constructor(session: Session, fd: number) {
    super()
    this.#session = session
    this.#fd = fd
  }

  get fd(): number {
    return this.#fd
  }

  getAsyncId(): number {
    return this.#fd
  }

  appendFile(data: unknown, options?: unknown): Promise<unknown> {
    return this.#write('appendFile', data, options)
  }

  chmod(mode: unknown): Promise<unknown> {
    return this.#call('chmod', 'fchmod', [mode])
  }

  chown(uid: unknown, gid: unknown): Promise<unknown> {
    return this.#call('chown', 'fchown', [uid, gid])
  }

  datasync(): Promise<unknown> {
    return this.#call('datasync', 'fdatasync', [])
  }

  sync(): Promise<unknown> {
    return this.#call('sync', 'fsync', [])
  }

  readFile(options?: unknown): Promise<unknown> {
    return this.#call('readFile', 'readFile', [options])
  }

  stat(options?: unknown): Promise<unknown> {
    return this.#call('stat', 'fstat', [options])
  }

  truncate(length: unknown = 0): Promise<unknown> {
    return this.#call('truncate', 'ftruncate', [length])
  }

  utimes(atime: unknown, mtime: unknown): Promise<unknown> {
    return this.#call('utimes', 'futimes', [atime, mtime])
  }

  writeFile(data: unknown, options?: unknown): Promise<unknown> {
    return this.#write('writeFile', data, options)
  }

  async read(...args: unknown[]): Promise<{ bytesRead: number; buffer: unknown }> {
    const { count, passed } = await this.#transfer('read', args)
    return { bytesRead: count, buffer: passed }
  }

  async readv(...args: unknown[]): Promise<{ bytesRead: number; buffers: unknown }> {
    const { count, passed } = await this.#transfer('readv', args)
    return { bytesRead: count, buffers: passed }
  }

  async write(...args: unknown[]): Promise<{ bytesWritten: number; buffer: unknown }> {
    const { count, passed } = await this.#transfer('write', args)
    return { bytesWritten: count, buffer: passed }
  }

  async writev(...args: unknown[]): Promise<{ bytesWritten: number; buffers: unknown }> {
    const { count, passed } = await this.#transfer('writev', args)
    return { bytesWritten: count, buffers: passed }
  }

  createReadStream(options?: object): ReadStream {
    return this.#stream(fs.ReadStream, options)
  }

  createWriteStream(options?: object): WriteStream {
    return this.#stream(fs.WriteStream, options)
  }

  readLines(options?: object): Interface {
    return createInterface({ input: this.createReadStream(options), crlfDelay: Infinity })
  }

  /** Always a byte stream. */
  readableWebStream({ autoClose = false } = {}): ReadableStream {
    let isReleased = false
    const release = async (): Promise<void> => {
      if (!isReleased) this.#release()
      isReleased = true
      if (autoClose) await this.close()
    }
    const pull = async (controller: ReadableByteStreamController): Promise<void> => {
      const view = controller.byobRequest?.view as Uint8Array
      const { bytesRead } = await this.read(view, 0, view.byteLength)
      if (bytesRead === 0) {
        controller.close()
        await release()
      }
      controller.byobRequest?.respond(bytesRead)
    }
    const stream = new ReadableStream({
      type: 'bytes',
      autoAllocateChunkSize: 16_384,
      pull,
      cancel: release,
    })
    this.#users += 1
    this.once('close', () => {
      if (!stream.locked) void stream.cancel()
    })
    return stream
  }

  close(): Promise<void> {
    if (this.#fd === -1) return this.#closing?.promise ?? Promise.resolve()
    if (this.#closing === undefined) {
      this.#closing = new Deferred()
      this.emit('close')
      this.#release()
    }
    return this.#closing.promise
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Drops one reference; the last one closes the descriptor. */
  #release(): void {
    this.#users -= 1
    if (this.#users !== 0) return
    const fd = this.#fd
    this.#fd = -1
    const session = this.#live('close')
    const closed = session
      ? promiseWork(session, tableWork(session, 'FileHandle.close', 'close', [fd]))
      : afterTheRun('close', [fd])
    closed.then(
      () => this.#closing?.resolve(),
      (error: unknown) => this.#closing?.reject(error as Error),
    )
  }

  /** A stream that reads through this handle and closes with it. */
  #stream(Stream: unknown, options: object = {}): ReadStream & WriteStream {
    const transfer =
      (name: Transfer) =>
      (_fd: number, buffer: unknown, ...rest: unknown[]) => {
        const done = rest.pop() as Done
        this.#transfer(name, [buffer, ...rest]).then(
          ({ count }) => done(null, count, buffer),
          (error: unknown) => done(error, 0, buffer),
        )
      }
    const operations = {
      open: (): never => {
        throw new Error('The open() method is not implemented')
      },
      close: (_fd: number, done: Done) => {
        this.#release()
        this.close().then(() => done(null), done)
      },
      fsync: (_fd: number, done: Done) => {
        this.sync().then(() => done(null), done)
      },
      read: transfer('read'),
      write: transfer('write'),
      writev: transfer('writev'),
    }
    const Made = Stream as new (path: undefined, options: object) => ReadStream & WriteStream
    const stream = new Made(undefined, { ...options, fd: this.#fd, fs: operations })
    this.#users += 1
    this.on('close', stream.close.bind(stream))
    return stream
  }

  async #call(method: string, name: string, args: readonly unknown[]): Promise<unknown> {
    return this.#use(name, (session, fd) =>
      session
        ? promiseWork(session, tableWork(session, `FileHandle.${method}`, name, [fd, ...args]))
        : afterTheRun(name, [fd, ...args]),
    )
  }

  async #write(method: string, data: unknown, options: unknown): Promise<unknown> {
    if (!isPieces(data)) return this.#call(method, 'writeFile', [data, options])
    return writePieces((bytes, offset) => this.write(bytes, offset), data, options as string)
  }

  async #transfer(name: Transfer, args: unknown[]): Promise<{ count: number; passed: unknown }> {
    return this.#use(name, async (session, fd) => {
      if (session) {
        const work = transfers[name](session, `FileHandle.${name}`, fd, args)
        return { count: (await promiseWork(session, work)) as number, passed: work.passed }
      }
      const [count, passed] = Object.values((await afterTheRun(name, [fd, ...args])) as object)
      return { count: count as number, passed }
    })
  }

  async #use<T>(
    name: string,
    work: (session: Session | undefined, fd: number) => Promise<T>,
  ): Promise<T> {
    if (this.#fd === -1) throw handleClosed(name)
    if (this.#session.local !== 'tape') currentCheck()?.descriptor(accessOf(name), this.#fd)
    this.#users += 1
    try {
      return await work(this.#live(name), this.#fd)
    } finally {
      this.#release()
    }
  }

  /** The run of this call; undefined if the run has ended and the file is still open. */
  #live(name: string): Session | undefined {
    const session = currentSession() ?? unrecordedFileSession()
    // A replayed descriptor is only a number and must never reach the system.
    if (session === undefined && this.#session.local === 'tape') throw handleClosed(name)
    return session
  }
}

type Transfer = keyof typeof transfers

const accessOf = (name: string): 'read' | 'write' =>
  /^(?:write|fchmod|fchown|ftruncate|futimes)/.test(name) ? 'write' : 'read'

Object.defineProperty(TapeFileHandle, 'name', { value: 'FileHandle' })

function afterTheRun(name: string, args: readonly unknown[]): Promise<unknown> {
  const native: (...args: unknown[]) => Promise<unknown> = promisify(nativeFunction(name))
  return outsideRuns(() => native(...args))
}

class Deferred {
  resolve!: () => void
  reject!: (error: Error) => void
  readonly promise = new Promise<void>((resolve, reject) => {
    this.resolve = resolve
    this.reject = reject
  })
}

/** Node's error for every method of a closed `FileHandle`. */
const handleClosed = (syscall: string): Error =>
  Object.assign(new Error('file closed'), { code: 'EBADF', syscall })

/** `promises.writeFile` also accepts iterables of text or bytes. */
type Pieces = Iterable<unknown> | AsyncIterable<unknown>

export const isPieces = (data: unknown): data is Pieces =>
  typeof data === 'object' &&
  data !== null &&
  !ArrayBuffer.isView(data) &&
  (Symbol.iterator in data || Symbol.asyncIterator in data)

interface WriteOptions {
  readonly flag?: string
  readonly mode?: number
  readonly signal?: AbortSignal
  readonly encoding?: BufferEncoding
}

/**
 * Opens a file, writes the chunks of an iterable, and closes it. The iterable is agent code, so it
 * must run inside the run.
 */
export async function writePiecesTo(name: string, args: readonly unknown[]): Promise<void> {
  const [path, pieces, given] = args
  const options = (typeof given === 'object' ? given : undefined) as WriteOptions | undefined
  const flag = options?.flag ?? (name === 'appendFile' ? 'a' : 'w')
  const handle = await fs.promises.open(path as string, flag, options?.mode)
  try {
    await writePieces(
      (bytes, offset) => handle.write(bytes, offset),
      pieces as Pieces,
      given as WriteOptions,
    )
  } finally {
    await handle.close()
  }
}

/** Writes each chunk completely before it requests the next one. */
async function writePieces(
  write: (bytes: Uint8Array, offset: number) => Promise<{ bytesWritten: number }>,
  pieces: Pieces,
  options: WriteOptions | string | undefined,
): Promise<void> {
  const signal = typeof options === 'object' ? options.signal : undefined
  for await (const piece of pieces) {
    signal?.throwIfAborted()
    const bytes = ArrayBuffer.isView(piece)
      ? bytesOf(piece)
      : Buffer.from(piece as string, encodingOf(options))
    for (let offset = 0; offset < bytes.length;) {
      offset += (await write(bytes, offset)).bytesWritten
    }
  }
}
