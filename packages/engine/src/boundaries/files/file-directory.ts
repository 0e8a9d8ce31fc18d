import fs from 'node:fs'
import { promisify } from 'node:util'
import { currentSession } from '../../scope.js'
import type { Session } from '../../sessions/session.js'
import { performCall, promiseCall, startCall } from '../captured-call.js'
import type { Answer, CapturedCall } from '../captured-call.js'
import { unrecordedFileSession } from './unrecorded-session.js'
import { directoryClosed } from './file-errors.js'
import { entry } from './file-values.js'
import { ListedDirectory, nameOfEntry } from './listed-directory.js'
import { plain } from '../result-form.js'

/** Open folders; Node closes one that is forgotten at a moment nobody can foresee, with a warning. */
const openDirectories = new Set<fs.Dir>()

/** What `opendir` gives inside a run: an `fs.Dir` whose entries come through the gate. */
export class TapeDirectory {
  readonly #session: Session
  /** The real folder while recording; on replay only its path, until the run goes live. */
  #directory: fs.Dir
  readonly #args: readonly unknown[]
  /** Entries handed out by a tape: a folder that is opened again need not show them. */
  readonly #seen = new Set<string>()
  #closed = false

  /** `args` are those it was opened with. */
  constructor(session: Session, directory: fs.Dir, args: readonly unknown[]) {
    this.#session = session
    this.#directory = directory
    this.#args = args
    if (session.local !== 'tape') openDirectories.add(directory)
  }

  get path(): string {
    return this.#directory.path
  }

  read(callback?: Answer): Promise<unknown> | void {
    if (this.#closed) throw directoryClosed()
    return this.#ask('read', (done) => this.#real().read(done as never), callback)
  }

  readSync(): unknown {
    if (this.#closed) throw directoryClosed()
    return this.#callSync('readSync', () => this.#real().readSync())
  }

  close(callback?: Answer): Promise<unknown> | void {
    if (this.#closed) {
      if (callback === undefined) return Promise.reject(directoryClosed())
      return process.nextTick(callback, directoryClosed())
    }
    this.#forget()
    return this.#ask('close', (done) => this.#real().close(done as never), callback)
  }

  closeSync(): void {
    if (this.#closed) throw directoryClosed()
    this.#forget()
    this.#callSync('closeSync', () => this.#real().closeSync())
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

  #callSync(method: string, run: () => unknown): unknown {
    const session = this.#live()
    return session === undefined ? run() : performCall(session, this.#call(method), run)
  }

  #call(method: string): CapturedCall {
    const isRead = method.startsWith('read')
    return {
      kind: 'file',
      name: `Dir.${method}`,
      title: this.path,
      input: {},
      form: isRead ? entry : plain,
      served: (outcome) => {
        if (isRead && 'value' in outcome && outcome.value !== null)
          this.#seen.add(nameOfEntry(outcome.value as fs.Dirent))
      },
    }
  }

  /** What the tape had opened is opened now, for the rest of its entries. */
  #real(): fs.Dir {
    if (typeof this.#directory.readSync !== 'function')
      this.#directory = new ListedDirectory(this.#session, this.#args, this.#seen) as never
    return this.#directory
  }

  /** The run this call belongs to; none when the recording is over and the folder is still open. */
  #live(): Session | undefined {
    const session = currentSession() ?? unrecordedFileSession()
    if (session === undefined && this.#session.local === 'tape') throw directoryClosed()
    return session
  }

  #forget(): void {
    this.#closed = true
    openDirectories.delete(this.#directory)
  }
}

Object.setPrototypeOf(TapeDirectory.prototype, fs.Dir.prototype)
Object.defineProperty(TapeDirectory, 'name', { value: 'Dir' })
