import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { currentSession } from '../../kernel/scope.js'
import type { Session } from '../../kernel/session.js'
import { performCall, promiseCall, startCall } from '../patching/captured-call.js'
import type { CapturedAnswer, CapturedCall } from '../patching/captured-call.js'
import { plain } from '../patching/captured-call.js'
import type { ResultForm } from '../patching/captured-call.js'
import { fileCall, pathArgumentText } from './file-call.js'
import { checkArguments, takes } from './file-functions.js'
import { nativeFunction } from './file-natives.js'
import { entry } from './file-values.js'
import type { FileWork } from './file-work.js'
import { callLive } from './live-call.js'
import { unrecordedFileSession } from './unrecorded-session.js'

/** Passes the real folder, or its listing in an overlay, to the stand-in; the tape only gets the path. */
const opened: ResultForm = {
  encode: (directory) => plain.encode((directory as fs.Dir).path),
  decode: (as, body) => ({ path: plain.decode(as, body) }),
}
const shape = takes('path options', opened)

/**
 * A call of `opendir`, recorded as `label`. In an overlay, a folder merges two folders, so it is
 * listed immediately.
 */
export function opendirWork(session: Session, label: string, args: readonly unknown[]): FileWork {
  checkArguments(shape, args, nativeFunction('opendirSync'))
  const isListed = session.overlay !== undefined
  return {
    call: () => fileCall(session, label, 'opendir', args, shape),
    run: () =>
      isListed ? new ListedDirectory(session, args) : nativeFunction('opendirSync')(...args),
    ...(!isListed && {
      start: (done: CapturedAnswer) => void nativeFunction('opendir')(...args, done),
    }),
    settle: (directory) => new TapeDirectory(session, directory as fs.Dir, args),
  }
}

/**
 * Keeps open folders reachable, because Node closes an unreachable one at an unpredictable moment,
 * with a warning.
 */
const openDirectories = new Set<fs.Dir>()

/** Result of `opendir` inside a run: an `fs.Dir` whose entries come through the gate. */
class TapeDirectory {
  readonly #session: Session
  /** The real folder while recording; on replay only its path, until the run goes live. */
  #directory: fs.Dir
  readonly #args: readonly unknown[]
  /** Entries that the tape has delivered, so that a reopened folder does not repeat them. */
  readonly #seen = new Set<string>()
  #closed = false

  constructor(session: Session, directory: fs.Dir, args: readonly unknown[]) {
    this.#session = session
    this.#directory = directory
    this.#args = args
    if (session.local !== 'tape') openDirectories.add(directory)
  }

  get path(): string {
    return this.#directory.path
  }

  read(callback?: CapturedAnswer): Promise<unknown> | void {
    if (this.#closed) throw directoryClosed()
    return this.#request('read', (done) => this.#real().read(done as never), callback)
  }

  readSync(): unknown {
    if (this.#closed) throw directoryClosed()
    return this.#callSync('readSync', () => this.#real().readSync())
  }

  close(callback?: CapturedAnswer): Promise<unknown> | void {
    if (this.#closed) {
      if (callback === undefined) return Promise.reject(directoryClosed())
      return process.nextTick(callback, directoryClosed())
    }
    this.#forget()
    return this.#request('close', (done) => this.#real().close(done as never), callback)
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

  #request(
    method: string,
    start: (done: CapturedAnswer) => void,
    callback?: CapturedAnswer,
  ): Promise<unknown> | void {
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

  /** Opens the real folder for the entries that the tape does not have. */
  #real(): fs.Dir {
    if (typeof this.#directory.readSync !== 'function')
      this.#directory = new ListedDirectory(this.#session, this.#args, this.#seen) as never
    return this.#directory
  }

  /** The run of this call; undefined if the run has ended and the folder is still open. */
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

/**
 * A folder whose entries were all read when it was opened. Replaces the real one in an overlay, and
 * for a folder that was opened by the tape before the run went live.
 */
class ListedDirectory {
  readonly path: string
  readonly #entries: fs.Dirent[]

  /** `seen`: entries already delivered, by `nameOfEntry`. Throws if the folder cannot be opened. */
  constructor(session: Session, args: readonly unknown[], seen: ReadonlySet<string> = new Set()) {
    const [filePath, options] = args
    const given = typeof options === 'string' ? { encoding: options } : (options ?? {})
    this.path = pathArgumentText(filePath)
    // Opens the folder only to get the errors of `opendir`.
    const folder = callLive(session, 'opendir', nativeFunction('opendirSync'), args) as fs.Dir
    folder.closeSync()
    const list = callLive(session, 'readdir', nativeFunction('readdirSync'), [
      filePath,
      { ...given, withFileTypes: true },
    ])
    this.#entries = (list as fs.Dirent[]).filter((entry) => !seen.has(nameOfEntry(entry)))
  }

  readSync(): fs.Dirent | null {
    return this.#entries.shift() ?? null
  }

  read(done: CapturedAnswer): void {
    done(null, this.readSync())
  }

  closeSync(): void {
    this.#entries.length = 0
  }

  close(done: CapturedAnswer): void {
    done(null)
  }
}

/** Identifies an entry within a folder and its subfolders. */
function nameOfEntry(entry: fs.Dirent): string {
  const parent = (entry as { parentPath?: string }).parentPath ?? entry.path
  return path.join(parent, entry.name)
}

/** Node's error for a method of a closed `Dir`, with its code in the stack. */
function directoryClosed(): Error {
  const code = 'ERR_DIR_CLOSED'
  const error = Object.assign(new Error('Directory handle was closed'), { code })
  const stack = error.stack?.replace(/^Error/, `Error [${code}]`)
  return Object.defineProperty(error, 'stack', { value: stack, writable: true, configurable: true })
}
