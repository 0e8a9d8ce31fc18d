import { EventEmitter } from 'node:events'
import fs from 'node:fs'
import { callSite } from '../call-site.js'
import { currentSession } from '../scope.js'
import type { Session } from '../sessions/session.js'
import { pathText } from './file-arguments.js'
import { nativeFs, nativePromises } from './file-natives.js'
import type { FileFunction } from './file-natives.js'
import { dressLike, replace, undoAll } from './patch.js'
import type { Undo } from './patch.js'

/** Watching files is not captured: it is noted while recording, and on replay nothing ever happens. */
export function patchWatching(): Undo {
  return undoAll([
    patch(fs, 'watch', nativeFs, () => new SilentWatcher()),
    patch(fs, 'watchFile', nativeFs, () => new SilentWatcher()),
    patch(fs, 'unwatchFile', nativeFs, () => {}),
    patch(fs.promises, 'watch', nativePromises, silence),
  ])
}

function patch(
  target: object,
  name: string,
  functions: Readonly<Record<string, FileFunction | undefined>>,
  silent: (args: unknown[]) => unknown,
): Undo {
  const native = functions[name]
  if (native === undefined) return () => {}
  const label = target === fs ? `fs.${name}` : `fs.promises.${name}`
  const patched: FileFunction = (...args) => {
    const session = currentSession()
    if (session === undefined) return native(...args)
    if (session.replaying) return silent(args)
    if (name !== 'unwatchFile') note(session, label, args[0])
    return native(...args)
  }
  return replace(target, name, dressLike(patched, native))
}

function note(session: Session, name: string, path: unknown): void {
  const site = callSite()
  session.note({
    kind: 'boundary',
    name,
    text: `changes of ${session.secrets.text(pathText(path))} reach the agent uncaptured and do not come again on replay`,
    ...(site !== undefined && { site }),
  })
}

/** A watcher that sees nothing. */
class SilentWatcher extends EventEmitter {
  close(): void {
    process.nextTick(() => this.emit('close'))
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  [Symbol.dispose](): void {
    this.close()
  }
}

/** `promises.watch`: an iterator that only ends when its signal is aborted. */
function silence(args: unknown[]): AsyncIterableIterator<never> {
  const next = (): Promise<never> => untilAborted((args[1] as WatchOptions | undefined)?.signal)
  return {
    next,
    return: () => Promise.resolve({ done: true, value: undefined }),
    [Symbol.asyncIterator]: () => silence(args),
  }
}

interface WatchOptions {
  readonly signal?: AbortSignal
}

function untilAborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise<never>((_, reject) => {
    const abort = (): void => {
      const error = new Error('The operation was aborted', { cause: signal?.reason })
      reject(Object.assign(error, { name: 'AbortError', code: 'ABORT_ERR' }))
    }
    if (signal?.aborted === true) abort()
    else signal?.addEventListener('abort', abort, { once: true })
  })
}
