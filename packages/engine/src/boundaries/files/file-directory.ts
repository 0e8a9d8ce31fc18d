import fs from 'node:fs'
import { promisify } from 'node:util'
import { currentSession } from '../../scope.js'
import type { Session } from '../../sessions/session.js'
import { performCall, promiseCall, startCall } from '../captured-call.js'
import type { Answer, CapturedCall } from '../captured-call.js'
import { directoryClosed } from './file-errors.js'
import { entry } from './file-values.js'
import { plain } from '../result-form.js'

/** Open folders; Node closes one that is forgotten at a moment nobody can foresee, with a warning. */
const kept = new Set<fs.Dir>()

/** What `opendir` gives inside a run: an `fs.Dir` whose entries come through the gate. */
export class TapeDirectory {
  readonly #session: Session
  /** The real folder while recording; on replay only its path. */
  readonly #directory: fs.Dir
  #closed = false

  constructor(session: Session, directory: fs.Dir) {
    this.#session = session
    this.#directory = directory
    if (!session.replaying) kept.add(directory)
  }

  get path(): string {
    return this.#directory.path
  }

  read(callback?: Answer): Promise<unknown> | void {
    if (this.#closed) throw directoryClosed()
    return this.#ask('read', (done) => this.#directory.read(done as never), callback)
  }

  readSync(): unknown {
    if (this.#closed) throw directoryClosed()
    return this.#askSync('readSync', () => this.#directory.readSync())
  }

  close(callback?: Answer): Promise<unknown> | void {
    if (this.#closed) {
      if (callback === undefined) return Promise.reject(directoryClosed())
      return process.nextTick(callback, directoryClosed())
    }
    this.#forget()
    return this.#ask('close', (done) => this.#directory.close(done as never), callback)
  }

  closeSync(): void {
    if (this.#closed) throw directoryClosed()
    this.#forget()
    this.#askSync('closeSync', () => this.#directory.closeSync())
  }

  async *entries(): AsyncGenerator {
    try {
      for (;;) {
        const found = await this.read()
        if (found === null) return
        yield found
      }
    } finally {
      await this.close()
    }
  }

  [Symbol.asyncIterator](): AsyncGenerator {
    return this.entries()
  }

  [Symbol.dispose](): void {
    if (!this.#closed) this.closeSync()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#closed) await this.close()
  }

  #ask(method: string, start: (done: Answer) => void, callback?: Answer): Promise<unknown> | void {
    const session = this.#live()
    if (session === undefined) return callback ? start(callback) : promisify(start)()
    const call = this.#call(method)
    if (callback === undefined) return promiseCall(session, call, start)
    startCall(session, call, start, callback)
  }

  #askSync(method: string, run: () => unknown): unknown {
    const session = this.#live()
    return session === undefined ? run() : performCall(session, this.#call(method), run)
  }

  #call(method: string): CapturedCall {
    const form = method.startsWith('read') ? entry : plain
    return { kind: 'file', name: `Dir.${method}`, title: this.path, input: {}, form }
  }

  /** The run this call belongs to; none when the recording is over and the folder is still open. */
  #live(): Session | undefined {
    const session = currentSession()
    if (session === undefined && this.#session.replaying) throw directoryClosed()
    return session
  }

  #forget(): void {
    this.#closed = true
    kept.delete(this.#directory)
  }
}

Object.setPrototypeOf(TapeDirectory.prototype, fs.Dir.prototype)
Object.defineProperty(TapeDirectory, 'name', { value: 'Dir' })
