import type { EventEmitter } from 'node:events'
import type { FileHandle } from 'node:fs/promises'
import path from 'node:path'
import v8 from 'node:v8'
import { attempt } from '@retake/tape/format'
import {
  disk,
  type FileCall,
  outsideRuns,
  replaceClass,
  type Undo,
  undoAll,
} from '@retake/engine/hook'
import { type CallBounds, endWith } from '../../bounds/call-bounds.js'
import type { FileAccess } from '../../bounds/scopes.js'
import { checkFirst, currentBounds } from '../../bounds/current-bounds.js'
import { hasBinding } from './file-binding.js'
import { FileCheck, isCode, pathArgument, Pins } from './file-check.js'
import { FILE_PLANS, LOOKS, readPaths } from './file-plans.js'

/**
 * Checks a call of `node:fs` by a guarded tool: `stat` and similar functions, descriptors, and every
 * function in a run that the tool starts. The rest is checked in `file-binding.ts`. A refusal is
 * reported like an error of the function; `exists` returns false.
 */
export function callWithin(bounds: readonly CallBounds[], file: FileCall): unknown {
  const { name, style, args, call, native, session } = file
  if (isCode(name, args[0]) && file.isNodesOwn()) return outsideRuns(() => native(...args))
  const check = new FileCheck(bounds, session)
  try {
    checkCall(check, name, args)
  } catch (error) {
    if (style === 'promise') return Promise.reject(error)
    if (style === 'iterator') return rejected(error as Error)
    const callback = args.findLast((arg) => typeof arg === 'function')
    if (style === 'callback' && callback !== undefined)
      return process.nextTick(() => callback(name === 'exists' ? false : error))
    if (style === 'sync' && name === 'exists') return false
    throw error
  }
  const called = call(...args)
  return name === 'open' && style === 'promise'
    ? (called as Promise<OpenedHandle>).then((handle) => {
        // Operations of a handle are not checked, so the handle is closed when its call ends.
        const close = (): void => void handle.close().catch(() => {})
        return handle.once('close', endWith(bounds, close))
      })
    : called
}

type OpenedHandle = FileHandle & EventEmitter

async function* rejected(error: Error | undefined): AsyncGenerator {
  if (error !== undefined) throw error
  yield undefined
}

/** Functions whose first argument is always a descriptor. */
const TAKES_DESCRIPTOR =
  /^(?:close|f(?:chmod|chown|datasync|stat|sync|truncate)|futimes|readv?|writev?)$/
const WRITES_DESCRIPTOR =
  /^(?:appendFile|fchmod|fchown|ftruncate|futimes|truncate|write|writeFile|writev)$/

/** Functions that loggers and streams use to write. */
const LOGS = /^(?:f(?:data)?sync|writev?)$/

function checkCall(check: FileCheck, name: string, given: readonly unknown[]): void {
  const [fd] = given
  if (typeof fd === 'number') {
    // A tool may close its files even after its call is over.
    if (name === 'close') return
    const access = WRITES_DESCRIPTOR.test(name) ? 'write' : 'read'
    return checkDescriptor(check, access, fd, LOGS.test(name))
  }
  if (TAKES_DESCRIPTOR.test(name)) return
  if (name === 'glob') return checkGlob(check, given)
  const onlyLooks = check.session === undefined && hasBinding()
  const plan = onlyLooks ? LOOKS[name] : FILE_PLANS[name]
  if (plan === undefined && !onlyLooks)
    throw new Error(`Retake invariant broken: fs.${name} has no bounds`)
  if (plan === undefined) return check.bounds.forEach((each) => each.checkOver())
  const args = [...given]
  if (name === 'loadEnvFile') args[0] ??= '.env'
  if (readPaths(check, name, args)) plan(new Pins(check, false), args)
}

/** Checks the folder where a search starts. Folders below are checked when they are read. */
function checkGlob(check: FileCheck, [patterns, options]: readonly unknown[]): void {
  const { cwd } = (typeof options === 'object' ? (options ?? {}) : {}) as { cwd?: unknown }
  const base = path.resolve(pathArgument(check, cwd ?? '.') ?? '.')
  for (const pattern of [patterns].flat().map(String)) {
    const fixed = pattern.split(/[*?[{!+@(]/, 1)[0] ?? ''
    const folder = fixed === pattern ? fixed : fixed.slice(0, fixed.lastIndexOf('/') + 1)
    check.access('read', path.isAbsolute(folder) ? folder : `${base}/${folder}`)
    // With `..` after a wildcard, the folders are known only during the search.
    if (/(?:^|[/\\{,(|])\.\.(?:[/\\},)|]|$)/.test(pattern.slice(folder.length)))
      check.access('unseen', pattern)
  }
}

/**
 * Checks the file behind a descriptor, because a model may pass a number where a tool expects a
 * path. A file that the program opened only for writing counts as a log, which may be written even
 * after the call.
 *
 * A connection of the program is refused under a scope: bytes written to it are not checked as
 * requests. Pipes may be written like logs.
 *
 * Not checked: a `FileHandle` that was opened before the call, because the program gave that file to
 * the tool, and descriptors on systems without `/proc`.
 */
export function checkDescriptor(
  { bounds }: FileCheck,
  access: FileAccess,
  fd: number,
  isLogging = false,
): void {
  if (fd >= 0 && fd <= 2) return
  const location = pathOf(fd)
  for (const each of bounds) {
    if (location !== undefined && !(isLogging && accessMode(fd) === disk.constants.O_WRONLY))
      each.file(access, location)
    else if (location === undefined && isConnection(fd, isLogging)) each.connection(fd)
    else if (isLogging) each.log(fd, location)
    else each.checkOver()
  }
}

/** Checks a descriptor that a program gets. False if the file behind it is not known. */
export function checkHanded({ bounds }: FileCheck, fd: number): boolean {
  const location = pathOf(fd)
  if (location === undefined) return false
  for (const each of bounds) {
    each.file('read', location)
    if (accessMode(fd) !== disk.constants.O_RDONLY) each.file('write', location)
  }
  return true
}

/** Undefined on systems without `/proc`. */
const accessMode = (fd: number): number | undefined =>
  attempt(() => {
    const info = outsideRuns(() => disk.readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))
    const [, flags = ''] = /^flags:\s*(\d+)$/m.exec(info) ?? []
    return Number.parseInt(flags, 8) & ACCESS_MODE
  })

const ACCESS_MODE = 3

/** True for a socket and the like, and, unless it is written like a log, for a pipe. */
function isConnection(fd: number, isLogging: boolean): boolean {
  const target = attempt(() => disk.readlinkSync(`/proc/self/fd/${fd}`), '')
  return /^(?:socket|anon_inode):/.test(target) || (target.startsWith('pipe:') && !isLogging)
}

/** The path behind a descriptor; undefined for sockets and pipes. */
const pathOf = (fd: number): string | undefined =>
  attempt(() => {
    const location = disk.readlinkSync(`/proc/self/fd/${fd}`).replace(/ \(deleted\)$/, '')
    return location.startsWith('/') ? location : undefined
  })

/** Checks functions outside `node:fs` that use files. Native add-ons are not covered. */
export const patchOtherFileFunctions = (): Undo =>
  undoAll([
    // `chdir` changes the relative paths of the whole program.
    checkFirst(process, 'chdir', (each, [folder]) => each.file('enter', String(folder))),
    checkFirst(v8, 'writeHeapSnapshot', (each, [file]) =>
      each.file('write', pathArgument(new FileCheck([each]), file) ?? '.'),
    ),
  ])

/** Checks modules that open files in native code. Loads them only for a file scope: they print warnings. */
export function checkNativeFileModules(): Undo {
  return undoAll([
    checkClass('node:wasi', 'WASI', (check, options) => {
      const { preopens = {} } = (options ?? {}) as { preopens?: Record<string, unknown> }
      for (const folder of Object.values(preopens).map(String)) {
        check.access('read', folder)
        check.access('write', folder)
      }
    }),
    // SQL can attach any file.
    checkClass('node:sqlite', 'DatabaseSync', ({ bounds }) => {
      for (const each of bounds) each.unseen('addon', 'node:sqlite')
    }),
  ])
}

function checkClass(
  from: string,
  name: string,
  inspect: (check: FileCheck, first: unknown) => void,
): Undo {
  const { emitWarning } = process
  let owner: Record<string, Function> | undefined
  process.emitWarning = () => {}
  try {
    owner = process.getBuiltinModule(from) as typeof owner
  } finally {
    process.emitWarning = emitWarning
  }
  const Native = owner?.[name]
  if (owner === undefined || Native === undefined) return () => {}
  const Checked = new Proxy(Native, {
    construct(native, args: unknown[], newTarget) {
      const bounds = currentBounds()
      if (bounds.length > 0) inspect(new FileCheck(bounds), args[0])
      return Reflect.construct(native, args, newTarget) as object
    },
  })
  return replaceClass([owner], name, Checked)
}
