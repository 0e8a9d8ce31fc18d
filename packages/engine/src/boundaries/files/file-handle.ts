import { EventEmitter } from 'node:events'
import type { ReadStream, WriteStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Interface } from 'node:readline'
import { promisify } from 'node:util'
import { currentCheck, currentSession, outsideRuns } from '../../scope.js'
import type { Session } from '../../sessions/session.js'
import { unrecordedFileSession } from './unrecorded-session.js'
import { forgetDescriptor, rememberDescriptor } from './file-descriptors.js'
import { handleClosed } from './file-errors.js'
import { readStreamOf, webStreamOf, writeStreamOf } from './file-handle-streams.js'
import { nativeFunction } from './file-natives.js'
import { isPieces, writePieces } from './file-pieces.js'
import { callPromise } from './file-promise-call.js'
import { promiseTransfer } from './file-transfers.js'

/**
 * What `fs.promises.open` gives inside a run, while recording and on replay
 * alike: a descriptor with the methods of Node's `FileHandle`. It is no instance
 * of Node's own class, which is not public, and cannot be sent to a worker.
 */
export class TapeFileHandle extends EventEmitter {
  readonly #session: Session
  #fd: number
  /** Itself, its streams and its calls under way: it closes when none is left. */
  #users = 1
  #closing: Deferred | undefined

  constructor(session: Session, fd: number, path: string) {
    super()
    this.#session = session
    this.#fd = fd
    rememberDescriptor(session, fd, path)
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
    return readStreamOf(this, options)
  }

  createWriteStream(options?: object): WriteStream {
    return writeStreamOf(this, options)
  }

  readLines(options?: object): Interface {
    return createInterface({ input: this.createReadStream(options), crlfDelay: Infinity })
  }

  readableWebStream(options?: { readonly autoClose?: boolean }): ReadableStream {
    return webStreamOf(this, options)
  }

  close(): Promise<void> {
    if (this.#fd === -1) return this.#closing?.promise ?? Promise.resolve()
    if (this.#closing === undefined) {
      this.#closing = new Deferred()
      this.emit('close')
      this.release()
    }
    return this.#closing.promise
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** One more user: a stream, or a call under way. */
  addUser(): void {
    this.#users += 1
  }

  /** One user less; the last one closes the descriptor. */
  release(): void {
    this.#users -= 1
    if (this.#users !== 0) return
    const fd = this.#fd
    this.#fd = -1
    const session = this.#live('close')
    const closed = session
      ? callPromise(session, 'FileHandle.close', 'close', [fd])
      : afterTheRun('close', [fd])
    forgetDescriptor(this.#session, fd)
    closed.then(
      () => this.#closing?.resolve(),
      (error: unknown) => this.#closing?.reject(error as Error),
    )
  }

  async #call(method: string, name: string, args: readonly unknown[]): Promise<unknown> {
    return this.#use(name, (session, fd) =>
      session
        ? callPromise(session, `FileHandle.${method}`, name, [fd, ...args])
        : afterTheRun(name, [fd, ...args]),
    )
  }

  async #write(method: string, data: unknown, options: unknown): Promise<unknown> {
    if (!isPieces(data)) return this.#call(method, 'writeFile', [data, options])
    return writePieces((bytes, offset) => this.write(bytes, offset), data, options as string)
  }

  async #transfer(
    name: string,
    args: readonly unknown[],
  ): Promise<{ count: number; passed: unknown }> {
    return this.#use(name, async (session, fd) => {
      if (session) return promiseTransfer(session, name, fd, args)
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
    this.addUser()
    try {
      return await work(this.#live(name), this.#fd)
    } finally {
      this.release()
    }
  }

  /** The run this call belongs to; none when the recording is over and the file is still open. */
  #live(name: string): Session | undefined {
    const session = currentSession() ?? unrecordedFileSession()
    // A replayed descriptor is only a number: it must never reach the system.
    if (session === undefined && this.#session.local === 'tape') throw handleClosed(name)
    return session
  }
}

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
