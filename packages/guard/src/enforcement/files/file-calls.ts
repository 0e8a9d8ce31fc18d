import path from 'node:path'
import type { EventEmitter } from 'node:events'
import type { Stats } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { disk, type FileCall, outsideRuns } from '@retake/engine/hook'
import type { CallBounds } from '../../bounds/call-bounds.js'
import type { FileAccess } from '../../bounds/scopes.js'
import { hasBinding } from './file-binding.js'
import { FileCheck, isCode, pathArgument } from './file-check.js'
import { FILE_PLANS, LOOKS, readPaths } from './file-plans.js'
import { Pins } from './pins.js'

/**
 * A call of `node:fs` by a guarded tool. What reads or changes something is checked below, where
 * `node:fs` hands over to the system; here, what only looks, descriptors, and everything where
 * a run is in between. A refusal comes in the way in which the function reports errors. `exists`
 * knows no errors: for it, what may not be seen is not there.
 */
export function callWithin(bounds: readonly CallBounds[], file: FileCall): unknown {
  const { name, style, args, call, native, session } = file
  if (isCode(name, args[0]) && file.isNodesOwn()) return outsideRuns(() => native(...args))
  const check = new FileCheck(bounds, session)
  try {
    checkCall(check, name, args)
  } catch (error) {
    return refused(style, name, args, error)
  }
  if (name !== 'open') return call(...args)
  const note = <T>(opened: T): T => (ownDescriptor(check, opened), opened)
  if (style === 'promise') return (call(...args) as Promise<unknown>).then(note)
  const last = args.findLastIndex((arg) => typeof arg === 'function')
  if (style === 'sync' || last < 0) return note(call(...args))
  const callback = args[last] as Function
  return call(...args.with(last, (error: unknown, fd: unknown) => callback(error, note(fd))))
}

function refused(
  style: FileCall['style'],
  name: string,
  args: readonly unknown[],
  error: unknown,
): unknown {
  if (style === 'promise') return Promise.reject(error)
  if (style === 'iterator') return rejected(error as Error)
  const callback = args.findLast((arg) => typeof arg === 'function')
  if (style === 'callback' && callback !== undefined)
    return process.nextTick(() => callback(name === 'exists' ? false : error))
  if (style === 'sync' && name === 'exists') return false
  throw error
}

async function* rejected(error: Error | undefined): AsyncGenerator {
  if (error !== undefined) throw error
  yield undefined
}

const TAKES_DESCRIPTOR =
  /^(?:close|f(?:chmod|chown|datasync|stat|sync|truncate)|futimes|readv?|writev?)$/

const WRITES_DESCRIPTOR =
  /^(?:appendFile|fchmod|fchown|ftruncate|futimes|truncate|write|writeFile|writev)$/

/** How loggers and streams write. */
const LOGS = /^(?:f(?:data)?sync|writev?)$/

function checkCall(check: FileCheck, name: string, given: readonly unknown[]): void {
  const [fd] = given
  if (typeof fd === 'number') {
    if (name === 'close' && isOwn(check, fd)) return disownDescriptor(check, fd)
    const access = WRITES_DESCRIPTOR.test(name) ? 'write' : 'read'
    return checkDescriptor(check, access, fd, LOGS.test(name))
  }
  if (TAKES_DESCRIPTOR.test(name)) return
  if (name === 'glob') return checkGlob(check, given)
  const plan =
    check.session === undefined && hasBinding()
      ? LOOKS[name]
      : (FILE_PLANS[name] ?? unplanned(name))
  if (plan === undefined) return check.bounds.forEach((each) => each.checkOver())
  const args = [...given]
  if (name === 'loadEnvFile') args[0] ??= '.env'
  if (readPaths(check, name, args)) plan(new Pins(check, false), args)
}

function unplanned(name: string): never {
  throw new Error(`Retake invariant broken: fs.${name} has no bounds`)
}

/** The folder that a search starts in. Others are checked when they are read. */
function checkGlob(check: FileCheck, [patterns, options]: readonly unknown[]): void {
  const { cwd } = (typeof options === 'object' ? (options ?? {}) : {}) as { cwd?: unknown }
  const base = path.resolve(pathArgument(check, cwd ?? '.') ?? '.')
  for (const pattern of [patterns].flat().map(String)) {
    const fixed = pattern.split(/[*?[{!+@(]/, 1)[0] ?? ''
    const folder = fixed === pattern ? fixed : fixed.slice(0, fixed.lastIndexOf('/') + 1)
    check.access('read', path.isAbsolute(folder) ? folder : `${base}/${folder}`)
    // Where it climbs from is only known when it is there.
    if (/(?:^|[/\\{,(|])\.\.(?:[/\\},)|]|$)/.test(pattern.slice(folder.length)))
      check.access('unseen', pattern)
  }
}

/** Descriptors that a guarded call has opened, with the file of each. */
const opened = new WeakMap<CallBounds, Map<number, string>>()

/** Takes note of what `open` gave to a tool: a number, or a handle, which is closed with the call. */
function ownDescriptor({ bounds }: FileCheck, given: unknown): void {
  const handle: Partial<FileHandle & EventEmitter> | undefined =
    typeof given === 'object' && given !== null ? given : undefined
  const fd = handle?.fd ?? given
  const file = typeof fd === 'number' ? fileOf(fd) : undefined
  if (typeof fd !== 'number' || file === undefined) return
  for (const each of bounds) {
    let own = opened.get(each)
    if (own === undefined) opened.set(each, (own = new Map()))
    own.set(fd, file)
    if (handle?.close === undefined) continue
    const release = each.onEnd(() => void handle.close?.().catch(() => {}))
    handle.once?.('close', release)
  }
}

/**
 * A descriptor was checked when it was opened, so a call may use its own, and those of the
 * process itself. Any other number is checked by the file it refers to; where that
 * is not known, or is no file, it is refused. A number that has been given to another file
 * meanwhile is not its own any more.
 *
 * A file that the program has opened only to write is its log, or output that it collects: tools
 * may write to it with `write`. By the functions that take a path or a number they may not, since
 * the number might come from the model.
 *
 * A `FileHandle` from before the call is not checked: passing it to a tool passes the file.
 */
export function checkDescriptor(
  check: FileCheck,
  access: FileAccess,
  fd: number,
  isLogging = false,
): void {
  if (fd >= 0 && fd <= 2) return
  const file = fileOf(fd)
  // Nothing is open there: Node says so.
  if (file === undefined) return
  for (const each of check.bounds) {
    if (!each.isOver && opened.get(each)?.get(fd) === file) continue
    const location = pathOf(fd)
    if (location === undefined) each.file('descriptor', `descriptor ${fd}`)
    else if (isLogging && opensOnlyToWrite(fd)) each.log(location)
    else each.file(access, location)
  }
}

/** True if every call around has opened it; then it may also be closed when they are over. */
function isOwn({ bounds }: FileCheck, fd: number): boolean {
  const file = fileOf(fd)
  return file !== undefined && bounds.every((each) => opened.get(each)?.get(fd) === file)
}

function disownDescriptor({ bounds }: FileCheck, fd: number): void {
  for (const each of bounds) opened.get(each)?.delete(fd)
}

function fileOf(fd: number): string | undefined {
  let stats: Stats
  try {
    stats = disk.fstatSync(fd)
  } catch {
    return undefined
  }
  return `${stats.dev}:${stats.ino}`
}

/** Linux only: elsewhere it cannot be found out. */
function opensOnlyToWrite(fd: number): boolean {
  try {
    const info = outsideRuns(() => disk.readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))
    const [, flags = ''] = /^flags:\s*(\d+)$/m.exec(info) ?? []
    return (Number.parseInt(flags, 8) & ACCESS_MODE) === disk.constants.O_WRONLY
  } catch {
    return false
  }
}

const ACCESS_MODE = 3

function pathOf(fd: number): string | undefined {
  try {
    const location = disk.readlinkSync(`/proc/self/fd/${fd}`)
    return location.startsWith('/') ? location : undefined
  } catch {
    return undefined
  }
}
