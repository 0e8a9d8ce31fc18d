import path from 'node:path'
import { types } from 'node:util'
import { flagBits, isNodesOwn, opensForWriting, outsideRuns, type Undo } from '@retake/engine/hook'
import { isOwnEntry } from '../../paths/own-files.js'
import { attempt } from '@retake/tape/format'
import { statOf } from '@retake/runner/sandbox'
import { currentBounds } from '../../bounds/current-bounds.js'
import { FileCheck, isCode, Pins } from './file-check.js'
import { BINDING_PLANS, readPaths } from './file-plans.js'

type Native = (...args: unknown[]) => unknown

let binding: Record<string, Native> | undefined

/** False under Node's permission model. Then `node:fs` is checked instead, and paths are not pinned. */
export const hasBinding = (): boolean => binding !== undefined

/**
 * Checks file access in the native binding below `node:fs`, so that functions of `node:fs` which a
 * library copied earlier are checked too. `stat` and similar functions are checked in `node:fs`,
 * because module loaders call them for every folder.
 */
export function patchFileBinding(): Undo {
  const owner = process as unknown as { binding?: (name: string) => Record<string, Native> }
  const { noDeprecation } = process
  // `process.binding` is deprecated, but nothing else gives access to the binding.
  process.noDeprecation = true
  const found = attempt(() => outsideRuns(() => owner.binding?.('fs')))
  if (noDeprecation === undefined) Reflect.deleteProperty(process, 'noDeprecation')
  else process.noDeprecation = noDeprecation
  binding = found
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
    // Without scopes, a library may keep working in the async context of a finished call.
    if (!check.haveScopes && bounds.every(({ isOver }) => isOver)) return native.apply(this, given)
    if (mayLoad(name, given) && isNodesOwn(wrapper, BELOW)) return native.apply(this, given)
    const args = [...given]
    const pins = new Pins(check, true)
    const request = args.find(isRequest)
    const folder = name === 'readdir' ? path.resolve(String(given[0])) : undefined
    const answer = (value: unknown): unknown => {
      if (name === 'mkdir') return pins.firstFolder ?? value
      if (typeof value === 'number' && name === 'open')
        for (const each of bounds) each.opened(value)
      return folder === undefined ? value : withoutOwn(folder, value)
    }
    try {
      if (readPaths(check, name, args)) plan?.(pins, args)
    } catch (error) {
      pins.release()
      // A library that walks a tree sees an empty folder behind a link that leads out.
      const isSkipped = name === 'readdir' && statOf(String(given[0]))?.isSymbolicLink() === true
      if (isSkipped) for (const each of bounds) each.overlook(error)
      const nothing = given[2] === true ? [[], []] : []
      if (request !== undefined)
        return process.nextTick(() =>
          isSkipped ? request.oncomplete(null, nothing) : request.oncomplete(pins.restore(error)),
        )
      if (!isSkipped) throw pins.restore(error)
      return given.some((each) => typeof each === 'symbol') ? Promise.resolve(nothing) : nothing
    }
    if (request !== undefined) {
      const { oncomplete } = request
      request.oncomplete = function (this: unknown, error, ...values) {
        pins.release()
        // Node omits the value if it did not create a folder.
        if (pins.firstFolder !== undefined && values.length === 0) values.push(undefined)
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
    // Before Node 22, an error may be returned in one of the arguments.
    for (const arg of args) pins.restore(arg)
    return answer(value)
  }
  return wrapper
}

const mayLoad = (name: string, [location, flags]: readonly unknown[]): boolean =>
  (name === 'readFileUtf8' || (name.startsWith('open') && !opensForWriting(flagBits(flags)))) &&
  isCode('readFile', location)

const BELOW = /^node:(?:fs$|internal\/fs\/)/

interface Request {
  oncomplete: (this: unknown, error: unknown, ...values: unknown[]) => unknown
}

const isRequest = (value: unknown): value is Request =>
  typeof (value as Partial<Request> | null | undefined)?.oncomplete === 'function'

/** Removes protected files from a list of names, or from a pair of lists: names and kinds. */
function withoutOwn(folder: string, listing: unknown): unknown {
  if (!Array.isArray(listing)) return listing
  const isSeen = (name: unknown): boolean => !isOwnEntry(folder, String(name))
  const [names, kinds] = listing as [unknown, unknown]
  if (!Array.isArray(names) || !Array.isArray(kinds)) return listing.filter(isSeen)
  return [names.filter(isSeen), kinds.filter((_, index) => isSeen(names[index]))]
}

const isPath = (value: unknown): boolean => typeof value === 'string' || types.isUint8Array(value)
