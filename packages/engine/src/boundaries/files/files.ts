import fs from 'node:fs'
import path from 'node:path'
import { parseEnv } from 'node:util'
import { fileEffect } from '@retake/tape/format'
import type { CheckedFunction } from '../../kernel/boundary-check.js'
import type { Session } from '../../kernel/session.js'
import { natives } from '../../kernel/natives.js'
import { performCall, plain } from '../patching/captured-call.js'
import { ignoresOutsideLogs, mayWriteLogs } from '../shared/shared-logs.js'
import { replace, undoAll, type Undo } from '../patching/patch.js'
import {
  fileContentOf,
  fileCall,
  learnSecrets,
  pathArgumentText,
  wasOpenedIn,
} from './file-call.js'
import { opendirWork } from './file-directory.js'
import { checkArguments, fileFunctions, takes } from './file-functions.js'
import { isPieces, TapeFileHandle, writePiecesTo } from './file-handle.js'
import { nativeFs, nativeFunction, type FileFunction } from './file-natives.js'
import { transfers } from './file-transfer.js'
import { patchWatching } from './file-watch.js'
import { promiseWork, startWork, tableWork, workSync, type FileWork } from './file-work.js'
import { replaceFileFunction, wrapFileFunction } from './file-wrapper.js'
import { callLive } from './live-call.js'

/**
 * All of `node:fs`. Reads are recorded and served; writes are recorded and compared. A replay does
 * not touch the disk, and a descriptor is only the recorded number. Module loading is not part of
 * the agent and is not recorded.
 */
export function patchFiles(): Undo {
  return undoAll([
    ...Object.keys(fileFunctions).flatMap(patchTableFunction),
    ...Object.keys(transfers).flatMap((name) => patchTransfer(name as keyof typeof transfers)),
    patchWork(fs, 'opendirSync', { name: 'opendir', style: 'sync' }, opendirWork),
    patchWork(fs, 'opendir', { name: 'opendir', style: 'callback' }, opendirWork),
    patchWork(fs.promises, 'opendir', { name: 'opendir', style: 'promise' }, opendirWork),
    patchWork(fs, 'openAsBlob', { name: 'openAsBlob', style: 'promise' }, blobWork),
    patchWork(fs, 'openAsBlobSync', { name: 'openAsBlobSync', style: 'sync' }, blobWork),
    replaceFileFunction(fs, 'createReadStream', streamOn('createReadStream')),
    replaceFileFunction(fs, 'createWriteStream', streamOn('createWriteStream')),
    replaceFileFunction(fs.promises, 'mkdtempDisposable', makeDisposable, {
      name: 'mkdtempDisposable',
      style: 'promise',
    }),
    replaceFileFunction(fs, 'mkdtempDisposableSync', makeDisposableSync, {
      name: 'mkdtempDisposable',
      style: 'sync',
    }),
    patchWatching(),
    replaceFileFunction(process, 'loadEnvFile', loadEnvFile, {
      name: 'loadEnvFile',
      style: 'sync',
    }),
  ])
}

type PlanWork = (session: Session, label: string, args: unknown[], native: FileFunction) => FileWork

function patchTableFunction(name: string): Undo[] {
  const undos = [
    patchWork(fs, `${name}Sync`, { name, style: 'sync' }, (session, label, args, sync) =>
      tableWork(session, label, name, args, { sync }),
    ),
    patchWork(fs, name, { name, style: 'callback' }, (session, label, args, later) =>
      tableWork(session, label, name, args, { later }),
    ),
  ]
  const later = (session: Session, args: unknown[]): unknown => answerPromise(session, name, args)
  if (name === 'glob')
    undos.push(replaceFileFunction(fs.promises, name, globLater, { name, style: 'iterator' }))
  else if (nativeFs[name] !== undefined)
    undos.push(replaceFileFunction(fs.promises, name, later, { name, style: 'promise' }))
  return undos
}

function patchTransfer(name: keyof typeof transfers): Undo[] {
  const plan: PlanWork = (session, label, [fd, ...rest]) =>
    transfers[name](session, label, fd, rest)
  return [
    patchWork(fs, `${name}Sync`, { name, style: 'sync' }, plan),
    patchWork(fs, name, { name, style: 'callback' }, plan),
  ]
}

/** Replaces one function of a module; no-op if this Node does not have it. */
function patchWork(module: object, key: string, checked: CheckedFunction, plan: PlanWork): Undo {
  const native = module === fs ? nativeFs[key] : (module as Record<string, FileFunction>)[key]
  if (native === undefined) return () => {}
  const label = module === fs ? `fs.${key}` : `fs.promises.${key}`
  return replace(module, key, patched(native, label, checked, plan))
}

function patched(
  native: FileFunction,
  label: string,
  checked: CheckedFunction,
  plan: PlanWork,
): FileFunction {
  const { name, style } = checked
  const inside = (session: Session, args: unknown[]): unknown => {
    // The output boundary has already handled a plain `writeSync(1, …)`.
    if (label === 'fs.writeSync' && (args[0] === 1 || args[0] === 2)) return native(...args)
    if (isSharedDescriptor(session, name, args[0]))
      return writeShared(session, checked, args, native, (given) =>
        plan(session, label, given, native),
      )
    if (style === 'callback')
      return withCallback(session, name, args, (given) => plan(session, label, given, native))
    if (style === 'sync') return workSync(session, plan(session, label, args, native))
    // Invalid arguments reject the promise, too.
    return (async () => promiseWork(session, plan(session, label, args, native)))()
  }
  const wrapper = wrapFileFunction(native, inside, checked)
  const nested = (native as { native?: FileFunction }).native
  if (nested) Object.assign(wrapper, { native: patched(nested, `${label}.native`, checked, plan) })
  return wrapper
}

/** The callback is the last function argument; without one, this throws like Node. */
function withCallback(
  session: Session,
  name: string,
  given: unknown[],
  plan: (args: unknown[]) => FileWork,
): void {
  const last = given.findLastIndex((arg) => typeof arg === 'function')
  const required = fileFunctions[name]?.required ?? 2
  if (last < 0 && name !== 'close') nativeFunction('exists')('', given.slice(required).at(-1))
  const callback = (last < 0 ? throwError : given[last]) as (...args: unknown[]) => void
  const work = plan(last < 0 ? given : given.slice(0, last))
  startWork(session, work, (error, value) => {
    if ('passed' in work) callback(error, error === null ? value : 0, work.passed)
    else if (error !== null) callback(error)
    else if (name === 'exists') callback(value)
    else if (value === undefined) callback(null)
    else callback(null, value)
  })
}

function throwError(error: unknown): void {
  if (error !== null) throw error as Error
}

/** Finds all matches on the first step, then returns them one by one. */
async function* globLater(session: Session, args: unknown[]): AsyncGenerator {
  yield* (await promiseWork(
    session,
    tableWork(session, 'fs.promises.glob', 'glob', args),
  )) as unknown[]
}

/**
 * A function of `node:fs/promises`. Uses the callback functions, because pending promise calls
 * would look like Node 20 loading a module.
 */
async function answerPromise(session: Session, name: string, args: unknown[]): Promise<unknown> {
  const [file, ...rest] = args
  if (name === 'readFile' || name === 'writeFile' || name === 'appendFile') {
    if (file instanceof TapeFileHandle) return file[name](...(rest as [unknown, unknown]))
    if (isPieces(args[1])) return writePiecesTo(name, args)
  }
  const native = nativeFunction(name)
  // `promises.realpath` uses the system call; `fs.realpath` does not.
  const later = (native as { native?: FileFunction }).native ?? native
  // A handle that was opened outside the run is used by its number.
  const { fd, getAsyncId } = (file ?? {}) as { fd?: unknown; getAsyncId?: unknown }
  const isHandle = typeof fd === 'number' && typeof getAsyncId === 'function'
  const given = isHandle ? [fd, ...rest] : args
  const work = tableWork(session, `fs.promises.${name}`, name, given, { later })
  const value = await promiseWork(session, work)
  return name === 'open' ? new TapeFileHandle(session, value as number) : value
}

const blobShape = takes('path options')

/** Reads the content immediately; Node's own blob would read the file later. */
function blobWork(
  session: Session,
  label: string,
  args: unknown[],
  native: FileFunction,
): FileWork {
  checkArguments(blobShape, args.slice(0, 1), nativeFs['readFileSync'])
  return {
    call: () => fileCall(session, label, 'openAsBlob', args, blobShape),
    run: () => callLive(session, 'readFile', nativeFunction('readFileSync'), [args[0]]),
    start: (done) => {
      const read = async (): Promise<Buffer> => {
        const blob = (await callLive(session, 'openAsBlob', native, args)) as Blob
        return Buffer.from(await blob.arrayBuffer())
      }
      read().then((bytes) => done(null, bytes), done)
    },
    settle: (bytes) =>
      new Blob([bytes as Uint8Array<ArrayBuffer>], args[1] as { type?: string } | undefined),
  }
}

/** Streams call `fs.open`, `fs.read` and so on; only streams on Retake's handles need this. */
const streamOn =
  (method: 'createReadStream' | 'createWriteStream') =>
  (_: Session, args: unknown[], native: FileFunction): unknown => {
    const given = (typeof args[1] === 'object' ? (args[1] ?? {}) : {}) as { fd?: unknown }
    const { fd, ...options } = given
    return fd instanceof TapeFileHandle ? fd[method](options) : native(...args)
  }

/** Temporary folders that remove themselves (Node 24): one call to create, one to remove. */
const REMOVE = { recursive: true, force: true, maxRetries: 0, retryDelay: 0 }

async function makeDisposable(_: Session, args: unknown[]): Promise<object> {
  const made = await fs.promises.mkdtemp(...(args as [string]))
  const folder = path.resolve(made)
  const remove = (): Promise<void> => fs.promises.rm(folder, REMOVE)
  return { path: made, remove, [Symbol.asyncDispose]: remove }
}

function makeDisposableSync(_: Session, args: unknown[]): object {
  const made = fs.mkdtempSync(...(args as [string]))
  const folder = path.resolve(made)
  const remove = (): void => fs.rmSync(folder, REMOVE)
  return { path: made, remove, [Symbol.dispose]: remove }
}

/** `process.loadEnvFile` bypasses `fs`, so on replay the variables that it sets come from the tape. */
function loadEnvFile(session: Session, [file = '.env']: unknown[]): void {
  const title = pathArgumentText(file)
  learnSecrets(session, [title])
  const call = {
    kind: 'file' as const,
    name: 'process.loadEnvFile',
    title,
    input: {},
    form: plain,
    again: () => {
      const content = fileContentOf(session, title)
      return content && { ...parseEnv(content.toString()) }
    },
  }
  const variables = performCall(session, call, () => {
    const read = nativeFunction('readFileSync')
    return { ...parseEnv(callLive(session, 'readFile', read, [file, 'utf8']) as string) }
  }) as Record<string, string>
  const target = session.environment
  for (const [name, value] of Object.entries(variables))
    if (target === undefined) process.env[name] ??= value
    else if (target.get(name) === undefined) target.set(name, value)
}

/**
 * True if a function run writes to a descriptor that it did not open, such as the log file of a
 * server. A logger collects the lines of all runs in one buffer, so its writes belong to none of
 * them.
 */
const isSharedDescriptor = (session: Session, name: string, fd: unknown): boolean =>
  (name in transfers ? !name.startsWith('read') : fileEffect(name) === 'flush') &&
  typeof fd === 'number' &&
  ignoresOutsideLogs(session) &&
  !wasOpenedIn(session, fd)

/**
 * Writes without recording. A run that may not change the disk only gets the result of a successful
 * write.
 */
function writeShared(
  session: Session,
  { name, style }: CheckedFunction,
  args: unknown[],
  native: FileFunction,
  plan: (args: unknown[]) => FileWork,
): unknown {
  const isOutput = args[0] === 1 || args[0] === 2
  if (isOutput || mayWriteLogs(session)) return native(...args)
  const last = args.findLastIndex((arg) => typeof arg === 'function')
  const work = plan(last < 0 ? args : args.slice(0, last))
  const value = name.startsWith('write') ? (work.call().input.body?.byteLength ?? 0) : undefined
  if (style === 'sync') return value
  natives.setImmediate(args[last] as (...answer: unknown[]) => void, null, value, work.passed)
  return undefined
}
