import path from 'node:path'
import { types } from 'node:util'
import { flagBits, isNodesOwn, opensForWriting, outsideRuns, type Undo } from '@retake/engine/hook'
import { isOwnEntry } from '../../bounds/own-files.js'
import { statOf } from '../../bounds/resolve-path.js'
import { currentBounds } from '../current-bounds.js'
import { FileCheck, isCode } from './file-check.js'
import { BINDING_PLANS, readPaths } from './file-plans.js'
import { Pins } from './pins.js'

type Native = (...args: unknown[]) => unknown

let binding: Record<string, Native> | undefined

/** False under Node's permission model. Then `node:fs` is checked, and paths are not pinned. */
export const hasBinding = (): boolean => binding !== undefined

/**
 * Checks files where `node:fs` hands over to the system: so it does not matter which function
 * a library calls, when it took it from `node:fs`, and how a tree is walked. Functions that only
 * look (`stat` and the like) are checked in `node:fs`: a loader calls them for every folder.
 */
export function patchFileBinding(): Undo {
  const found = (binding = bindingOf())
  if (found === undefined) return () => {}
  const names = Object.keys(BINDING_PLANS).filter((name) => name in found)
  const natives = names.map((name) => [name, found[name] as Native] as const)
  for (const [name, native] of natives) found[name] = checked(name, native)
  return () => {
    Object.assign(found, Object.fromEntries(natives))
    binding = undefined
  }
}

function checked(name: string, native: Native): Native {
  const plan = BINDING_PLANS[name]
  const wrapper = function (this: unknown, ...given: unknown[]): unknown {
    const bounds = currentBounds()
    if (bounds.length === 0 || !isPath(given[0])) return native.apply(this, given)
    const check = new FileCheck(bounds)
    // A library may continue in the context of a finished call; without scopes that is allowed.
    if (!check.haveScopes && bounds.every(({ isOver }) => isOver)) return native.apply(this, given)
    if (mayLoad(name, given) && isNodesOwn(wrapper, BELOW)) return native.apply(this, given)
    const args = [...given]
    const pins = new Pins(check, true)
    const request = args.find(isRequest)
    const folder = name === 'readdir' ? path.resolve(String(given[0])) : undefined
    const answer = (value: unknown): unknown => {
      if (typeof value === 'string' && name === 'mkdir') return pins.unpinned(value)
      return folder === undefined ? value : withoutOwn(folder, value)
    }
    try {
      if (readPaths(check, name, args)) plan?.(pins, args)
    } catch (error) {
      pins.release()
      // Who walks a tree finds nothing behind a link that leads out of the folders, and continues.
      const isSkipped = name === 'readdir' && isLink(given[0])
      if (isSkipped) for (const each of bounds) each.overlook(error)
      const nothing = given[2] === true ? [[], []] : []
      if (request !== undefined)
        return process.nextTick(() =>
          isSkipped ? request.oncomplete(null, nothing) : request.oncomplete(error),
        )
      if (!isSkipped) throw pins.restore(error)
      return given.some((each) => typeof each === 'symbol') ? Promise.resolve(nothing) : nothing
    }
    if (request !== undefined) {
      const { oncomplete } = request
      request.oncomplete = function (this: unknown, error, ...values) {
        pins.release()
        return oncomplete.call(this, pins.restore(error), ...values.map(answer))
      }
    }
    let value: unknown
    try {
      value = native.apply(this, args)
    } catch (error) {
      pins.release()
      throw pins.restore(error)
    }
    if (request !== undefined) return value
    if (value instanceof Promise)
      return value
        .then(answer, (error: unknown) => Promise.reject(pins.restore(error) as Error))
        .finally(() => pins.release())
    pins.release()
    // Before Node 22, an error may come in an object among the arguments.
    for (const arg of args) pins.restore(arg)
    return answer(value)
  }
  return wrapper
}

/** True for what a loader does to read a module. */
const mayLoad = (name: string, [location, flags]: readonly unknown[]): boolean =>
  (name === 'readFileUtf8' || (name.startsWith('open') && !opensForWriting(flagBits(flags)))) &&
  isCode('readFile', location)

/** Parts of Node between a loader and the system. */
const BELOW = /^node:(?:fs$|internal\/fs\/)/

const isLink = (location: unknown): boolean => statOf(String(location))?.isSymbolicLink() === true

interface Request {
  oncomplete: (this: unknown, error: unknown, ...values: unknown[]) => unknown
}

const isRequest = (value: unknown): value is Request =>
  typeof (value as Partial<Request> | null | undefined)?.oncomplete === 'function'

/**
 * Leaves out what belongs to the guard, so that tools can walk the folders around it: names alone,
 * or names and their kinds side by side.
 */
function withoutOwn(folder: string, listing: unknown): unknown {
  if (!Array.isArray(listing)) return listing
  const isSeen = (name: unknown): boolean => !isOwnEntry(folder, String(name))
  const [names, kinds] = listing as [unknown, unknown]
  if (!Array.isArray(names) || !Array.isArray(kinds)) return listing.filter(isSeen)
  return [names.filter(isSeen), kinds.filter((_, index) => isSeen(names[index]))]
}

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
