import path from 'node:path'
import { types } from 'node:util'
import {
  flagBits,
  isNodesOwn,
  opensForWriting,
  opensToRead,
  outsideRuns,
  type Undo,
} from '@retake/engine/hook'
import { isOwnEntry } from '../../bounds/own-files.js'
import { currentBounds } from '../current-bounds.js'
import { FileCheck } from './file-check.js'
import { isCode } from './is-code.js'
import { pathArgument } from './path-argument.js'
import { MISSING_PATH } from './pins.js'

type Inspect = (check: FileCheck, paths: readonly string[], flags: unknown) => void

const opens: Inspect = (check, [location = ''], flags) => {
  const bits = flagBits(flags)
  if (opensToRead(bits)) check.access('read', location)
  if (opensForWriting(bits)) check.access('write', location)
}
const reads: Inspect = (check, [path = '']) => check.access('read', path)
const writes: Inspect = (check, [path = '']) => check.access('write', path)
const entry: Inspect = (check, [path = '']) => check.entry('write', path)
const removals: Inspect = (check, paths) => paths.forEach((path) => check.removal(path))
const copies: Inspect = (check, [from = '', to = '']) => {
  check.access('read', from)
  check.access('write', to)
}

/** Functions below `node:fs` by which content is read, or anything is changed. */
const FUNCTIONS: Readonly<Record<string, Inspect>> = {
  open: opens,
  openFileHandle: opens,
  readFileUtf8: opens,
  readdir: reads,
  chmod: writes,
  chown: writes,
  mkdtemp: writes,
  utimes: writes,
  writeFileUtf8: writes,
  lchown: entry,
  lutimes: entry,
  mkdir: entry,
  rmdir: removals,
  rmSync: removals,
  unlink: removals,
  link: (check, [from = '', to = '']) => (check.access('write', from), check.access('write', to)),
  rename: removals,
  symlink: (check, [, path = '']) => check.removal(path),
  copyFile: copies,
  cpSyncCopyDir: copies,
  cpSyncOverrideFile: copies,
}

/**
 * Asks once more where `node:fs` hands over to the system, for functions that a library took
 * from `node:fs` before it was patched. Only processes with a guard pay for it.
 * Functions that only look (`stat` and the like) are not checked here, and paths are not pinned.
 */
export function lockBinding(): Undo {
  const binding = bindingOf() ?? {}
  const names = Object.keys(FUNCTIONS).filter((name) => name in binding)
  const natives = names.map((name) => [name, binding[name] as Native] as const)
  for (const [name, native] of natives)
    binding[name] = inspecting(name, native, FUNCTIONS[name] as Inspect)
  return () => void Object.assign(binding, Object.fromEntries(natives))
}

type Native = (...args: unknown[]) => unknown

function inspecting(name: string, native: Native, inspect: Inspect): Native {
  const locked = function (this: unknown, ...args: unknown[]): unknown {
    const bounds = currentBounds()
    if (bounds.length === 0) return native.apply(this, args)
    look(bounds, args)
    return name === 'readdir' ? list(bounds, args) : native.apply(this, args)
  }
  const list = (bounds: ReturnType<typeof currentBounds>, args: unknown[]): unknown => {
    const folder = path.resolve(pathArgument(new FileCheck(bounds), args[0]) ?? '')
    const request = args.find(isRequest)
    if (request === undefined) return withoutOwn(folder, native(...args))
    const { oncomplete } = request
    request.oncomplete = function (this: unknown, error, ...listing) {
      return oncomplete.call(this, error, ...listing.map((each) => withoutOwn(folder, each)))
    }
    return native(...args)
  }
  const look = (bounds: ReturnType<typeof currentBounds>, args: unknown[]): void => {
    const check = new FileCheck(bounds)
    if (!isPath(args[0]) || args[0] === MISSING_PATH) return
    // A library may keep working in the context of a finished call; without scopes that is allowed.
    if (!check.haveScopes && bounds.every(({ isOver }) => isOver)) return
    const isReading = name === 'readFileUtf8' || !opensForWriting(flagBits(args[1]))
    if (inspect === opens && isReading && isCode('readFile', args[0]) && isNodesOwn(locked, BELOW))
      return
    const paths = args.slice(0, 2).filter(isPath)
    inspect(
      check,
      paths.map((path) => pathArgument(check, path) ?? ''),
      args[1],
    )
  }
  return locked
}

interface Request {
  oncomplete: (this: unknown, error: unknown, ...listing: unknown[]) => unknown
}

const isRequest = (value: unknown): value is Request =>
  typeof (value as Partial<Request> | null | undefined)?.oncomplete === 'function'

/**
 * Leaves out what belongs to the guard, so that tools can walk the folders around it: names alone,
 * or names and their kinds side by side.
 */
function withoutOwn(folder: string, listing: unknown): unknown {
  if (listing instanceof Promise)
    return listing.then((listed: unknown) => withoutOwn(folder, listed))
  if (!Array.isArray(listing)) return listing
  const isSeen = (name: unknown): boolean => !isOwnEntry(folder, String(name))
  const [names, kinds] = listing as [unknown, unknown]
  if (!Array.isArray(names) || !Array.isArray(kinds)) return listing.filter(isSeen)
  return [names.filter(isSeen), kinds.filter((_, index) => isSeen(names[index]))]
}

/** Parts of Node between a loader and the system. */
const BELOW = /^node:(?:fs$|internal\/fs\/)/

const isPath = (value: unknown): boolean => typeof value === 'string' || types.isUint8Array(value)

function bindingOf(): Record<string, Native> | undefined {
  const owner = process as unknown as { binding?: (name: string) => Record<string, Native> }
  const { noDeprecation } = process
  // The one way there is; it is deprecated so that programs do not come to rely on it.
  process.noDeprecation = true
  try {
    return outsideRuns(() => owner.binding?.('fs'))
  } catch {
    return undefined
  } finally {
    if (noDeprecation === undefined) Reflect.deleteProperty(process, 'noDeprecation')
    else process.noDeprecation = noDeprecation
  }
}
