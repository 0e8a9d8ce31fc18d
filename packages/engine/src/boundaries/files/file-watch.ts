import { overlayOf } from '../../overlay/overlay.js'
import { EventEmitter } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { fromWire, rebuildError, recordError, toWire } from '@retake/tape/format'
import { siteField } from '../../kernel/call-site.js'
import { absolute } from '../../overlay/overlay-call.js'
import { outsideRuns } from '../../kernel/scope.js'
import type { Operation, Session } from '../../kernel/session.js'
import { performCall, plain } from '../patching/captured-call.js'
import { abortError } from '../patching/deliver-error.js'
import { undoAll, type Undo } from '../patching/patch.js'
import { fileCall, pathArgumentText } from './file-call.js'
import { isPath, takes } from './file-functions.js'
import { nativeFunction, type FileFunction } from './file-natives.js'
import { numbersOf, statsOf } from './file-values.js'
import { replaceFileFunction } from './file-wrapper.js'
import { callLive } from './live-call.js'

export function patchWatching(): Undo {
  return undoAll([
    replaceFileFunction(fs, 'watch', watch, { name: 'watch', style: 'sync' }),
    replaceFileFunction(fs, 'watchFile', watchFile, { name: 'watchFile', style: 'sync' }),
    replaceFileFunction(fs, 'unwatchFile', unwatchFile),
    replaceFileFunction(fs.promises, 'watch', watchLater, { name: 'watch', style: 'iterator' }),
  ])
}

type Listener = (...args: unknown[]) => void

/** A path that cannot be watched fails immediately; changes arrive later. */
const opened = takes('path options', { encode: () => ({}), decode: plain.decode })

function watch(session: Session, given: unknown[]): TapeWatcher {
  const listener = given.find((arg) => typeof arg === 'function') as Listener | undefined
  const [filePath, options] = given.filter((arg) => typeof arg !== 'function')
  const { signal, ...rest } = (typeof options === 'object' ? (options ?? {}) : {}) as WatchOptions
  const args = [filePath, typeof options === 'string' ? options : rest]
  const call = fileCall(session, 'fs.watch', 'watch', args, opened)
  const open = (): NativeWatcher => watchBoth(session, args)
  const native = performCall(session, call, open)
  const watcher = new TapeWatcher(session, {
    name: 'FSWatcher',
    path: pathArgumentText(filePath),
    form: namedChange,
    native: native as NativeWatcher | undefined,
    open,
    stop: (real) => (real as fs.FSWatcher).close(),
  })
  if (listener) watcher.on('change', listener)
  if (signal?.aborted === true) process.nextTick(() => watcher.close())
  else signal?.addEventListener('abort', () => watcher.close(), { once: true })
  return watcher
}

/** In a branch, changes may come from the disk and from the branch's own writes. */
function watchBoth(session: Session, args: readonly unknown[]): NativeWatcher {
  const native = nativeFunction('watch')
  const overlay = overlayOf(session)
  const filePath = overlay?.resolve(absolute(args[0]))
  if (overlay === undefined || filePath === undefined || !overlay.covers(filePath))
    return native(...args) as NativeWatcher
  const watcher = callLive(session, 'watch', native, args) as fs.FSWatcher
  if (overlay.locate(filePath).in !== 'disk') return watcher
  const own = native(overlay.forWriting(filePath), ...args.slice(1)) as fs.FSWatcher
  own.on('change', (...change) => watcher.emit('change', ...change))
  watcher.on('close', () => own.close())
  const { ref, unref } = watcher
  watcher.ref = () => (own.ref(), ref.call(watcher))
  watcher.unref = () => (own.unref(), unref.call(watcher))
  return watcher
}

interface WatchOptions {
  readonly signal?: AbortSignal
}

/** Watchers of each run, by path; listeners for the same file share one. */
const pollers = new WeakMap<Session, Map<string, TapeWatcher>>()

function pollersOf(session: Session): Map<string, TapeWatcher> {
  let map = pollers.get(session)
  if (map === undefined) pollers.set(session, (map = new Map()))
  return map
}

function watchFile(session: Session, given: unknown[], native: FileFunction): unknown {
  const [filePath, ...rest] = given
  const listener = rest.find((arg) => typeof arg === 'function') as Listener | undefined
  // Node throws for these arguments.
  if (listener === undefined || !isPath(filePath)) return native(...given)
  const key = path.resolve(pathArgumentText(filePath))
  let watcher = pollersOf(session).get(key)
  if (watcher === undefined) {
    const options = typeof rest[0] === 'object' ? (rest[0] ?? {}) : {}
    const ignore = (): void => {}
    // In a branch, only its own writes can be polled.
    const overlay = overlayOf(session)
    let watched: unknown = filePath
    const open = (): NativeWatcher => {
      if (overlay) watched = overlay.forWriting(overlay.resolve(absolute(filePath)))
      return native(watched, options, ignore) as NativeWatcher
    }
    watcher = new TapeWatcher(session, {
      name: 'fs.watchFile',
      path: pathArgumentText(filePath),
      form: statChange,
      native: session.local === 'tape' ? undefined : outsideRuns(open),
      open,
      stop: () => nativeFunction('unwatchFile')(watched, ignore),
    })
    pollersOf(session).set(key, watcher)
  }
  return watcher.on('change', listener)
}

function unwatchFile(session: Session, given: unknown[], native: FileFunction): void {
  const [filePath, listener] = given
  const key = isPath(filePath) ? path.resolve(pathArgumentText(filePath)) : ''
  const watcher = pollersOf(session).get(key)
  if (watcher === undefined) return void (session.local === 'tape' || native(...given))
  if (typeof listener === 'function') watcher.off('change', listener as Listener)
  else watcher.removeAllListeners('change')
  if (watcher.listenerCount('change') > 0) return
  pollersOf(session).delete(key)
  watcher.close()
}

async function* watchLater(session: Session, args: unknown[]): AsyncGenerator {
  const { signal, ...options } = (args[1] ?? {}) as WatchOptions
  if (signal?.aborted === true) throw abortError(signal)
  const changes: object[] = []
  let failure: Error | undefined
  let wake: () => void = () => {}
  const watcher = watch(session, [args[0], options])
  const fail = (error: Error): void => {
    failure = error
    wake()
  }
  const abort = (): void => fail(abortError(signal))
  watcher.on('error', fail)
  watcher.on('change', (eventType, filename) => {
    changes.push({ eventType: eventType as unknown, filename: filename as unknown })
    wake()
  })
  signal?.addEventListener('abort', abort, { once: true })
  try {
    for (;;) {
      yield* changes.splice(0)
      if (failure) throw failure
      if (changes.length === 0) await new Promise<void>((resolve) => (wake = resolve))
    }
  } finally {
    signal?.removeEventListener('abort', abort)
    watcher.close()
  }
}

interface NativeWatcher extends EventEmitter {
  ref?(): unknown
  unref?(): unknown
}

interface ChangeForm {
  encode(args: readonly unknown[]): unknown
  decode(wire: unknown): unknown[]
}

const namedChange: ChangeForm = {
  encode: toWire,
  decode: (wire) => fromWire(wire) as unknown[],
}

const statChange: ChangeForm = {
  encode: (args) => args.slice(0, 2).map((stat) => toWire(numbersOf(stat))),
  decode: (wire) => (wire as unknown[]).map((fields) => statsOf(fromWire(fields) as never)),
}

interface Watched {
  readonly name: string
  readonly path: string
  readonly form: ChangeForm
  /** The real watcher; undefined on replay, until the run goes live. */
  readonly native: NativeWatcher | undefined
  open(): NativeWatcher
  stop(native: NativeWatcher): void
}

/**
 * Result of `fs.watch` and `fs.watchFile` inside a run. Changes come through the gate, from the
 * disk while recording and from the tape on replay.
 */
class TapeWatcher extends EventEmitter {
  readonly #watched: Watched
  readonly #operation: Operation
  #native: NativeWatcher | undefined
  #stopListening = (): void => {}
  #isRefed = true
  #closed = false

  constructor(session: Session, watched: Watched) {
    super()
    this.#watched = watched
    this.#native = watched.native
    const { name, path } = watched
    this.#operation = session.perform({
      event: {
        type: 'call',
        kind: 'file',
        name,
        title: session.secrets.text(path),
        ...siteField(),
      },
      lasting: true,
      start: (operation) => this.#listen(operation),
      deliver: (delivery) => {
        const { event } = delivery
        if (event.type !== 'deliver') return
        if (event.error) this.emit('error', rebuildError(event.error))
        else this.emit('change', ...this.#watched.form.decode(event.value))
      },
    })
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#operation.close()
    this.#stopListening()
    const native = this.#native
    if (native) outsideRuns(() => this.#watched.stop(native))
    process.nextTick(() => this.emit('close'))
  }

  ref(): this {
    this.#isRefed = true
    this.#native?.ref?.()
    return this
  }

  unref(): this {
    this.#isRefed = false
    this.#native?.unref?.()
    return this
  }

  [Symbol.dispose](): void {
    this.close()
  }

  #listen(operation: Operation): void {
    const { form } = this.#watched
    const native = this.#native ?? this.#open(operation)
    const change = (...args: unknown[]): void =>
      operation.complete({ type: 'deliver', part: 'change', value: form.encode(args) })
    const fail = (error: unknown): void =>
      operation.complete({ type: 'deliver', part: 'error', error: recordError(error) })
    native?.on('change', change).on('error', fail)
    // Node polls a file while it has listeners, and shares the poll between them.
    this.#stopListening = () => void native?.off('change', change)
  }

  /** Starts the real watcher of a watch that existed only on the tape. */
  #open(operation: Operation): NativeWatcher | undefined {
    try {
      this.#native = this.#watched.open()
      if (!this.#isRefed) this.#native.unref?.()
    } catch (error) {
      operation.complete({ type: 'deliver', part: 'error', error: recordError(error) })
    }
    return this.#native
  }
}
