import {
  bindCheck,
  type CheckedFunction,
  type FileFunction,
  isPieces,
  type Session,
  writePiecesTo,
} from '@retake/engine/hook'
import type { CallBounds } from '../../bounds/call-bounds.js'
import { GuardError } from '../../guard-error.js'
import { FileCheck } from './file-check.js'
import { boundedPlan, type BoundedPlan } from './bounded-plan.js'
import { Pins } from './pins.js'

/**
 * Makes a call of `node:fs` for a guarded tool: it is checked first, and a refusal comes in the way
 * in which the function reports errors. `exists` knows no errors: for it, what may not be
 * seen is not there.
 */
export function callWithin(
  bounds: readonly CallBounds[],
  { name, style }: CheckedFunction,
  session: Session | undefined,
  call: FileFunction,
  args: unknown[],
): unknown {
  const check = new FileCheck(bounds, session)
  // A run makes the call outside of the tool; what the options have of it stays inside.
  const given = session === undefined ? args : args.map(withBoundFunctions)
  switch (style) {
    case 'sync':
      return callSync(check, name, call, given)
    case 'callback':
      return callBack(check, name, call, given)
    case 'promise':
      return callLater(check, name, call, given)
    case 'iterator':
      return iterate(check, name, call, given)
  }
}

/** The filter of `cp`, the exclusion of `glob`. */
function withBoundFunctions(option: unknown): unknown {
  if (typeof option !== 'object' || option === null) return option
  const prototype: unknown = Object.getPrototypeOf(option)
  if (prototype !== Object.prototype && prototype !== null) return option
  const bind = bindCheck()
  return Object.fromEntries(
    Object.entries(option as Record<string, unknown>).map(([name, value]) => [
      name,
      typeof value === 'function' ? (...args: unknown[]) => bind(() => value(...args)) : value,
    ]),
  )
}

function planOf(check: FileCheck, pins: Pins, name: string, given: unknown[]): BoundedPlan {
  try {
    return boundedPlan(check, pins, name, given) ?? { args: given }
  } catch (error) {
    pins.release()
    throw pins.restoreError(error)
  }
}

function callSync(check: FileCheck, name: string, call: FileFunction, given: unknown[]): unknown {
  const pins = new Pins(check)
  try {
    const { args, finish } = planOf(check, pins, name, given)
    const value = call(...args)
    return finish ? finish(value) : value
  } catch (error) {
    if (name === 'exists' && error instanceof GuardError) return false
    throw pins.restoreError(error)
  } finally {
    pins.release()
  }
}

type Callback = (...answer: unknown[]) => void

function callBack(check: FileCheck, name: string, call: FileFunction, given: unknown[]): unknown {
  const last = given.findLastIndex((arg) => typeof arg === 'function')
  // Node refuses to begin without one; only `close` does not mind.
  if (last < 0) return callSync(check, name, call, given)
  const callback = given[last] as Callback
  const pins = new Pins(check)
  let plan: BoundedPlan
  try {
    plan = planOf(check, pins, name, given.slice(0, last))
  } catch (error) {
    return process.nextTick(callback, name === 'exists' ? false : error)
  }
  const { args, finish } = plan
  const answer: Callback = (error, ...values) => {
    pins.release()
    if (name === 'exists' || (error !== null && error !== undefined))
      return callback(pins.restoreError(error), ...values)
    if (finish === undefined || values.length === 0) return callback(error, ...values)
    let value: unknown
    try {
      value = finish(values[0])
    } catch (refused) {
      return callback(refused)
    }
    callback(error, value)
  }
  try {
    return call(...args, answer)
  } catch (error) {
    pins.release()
    throw pins.restoreError(error)
  }
}

async function callLater(
  check: FileCheck,
  name: string,
  call: FileFunction,
  given: unknown[],
): Promise<unknown> {
  // The iterable is code of the tool: it must run within the bounds.
  if ((name === 'writeFile' || name === 'appendFile') && isPieces(given[1]) && !isHandle(given[0]))
    return writePiecesTo(name, given)
  const pins = new Pins(check)
  try {
    const { args, finish } = planOf(check, pins, name, given)
    const value = await call(...args)
    // Before the pins are released.
    return await (finish ? finish(value) : value)
  } catch (error) {
    throw pins.restoreError(error)
  } finally {
    pins.release()
  }
}

const isHandle = (location: unknown): boolean =>
  typeof location === 'object' && location !== null && 'fd' in location

async function* iterate(
  check: FileCheck,
  name: string,
  call: FileFunction,
  given: unknown[],
): AsyncGenerator {
  const { args, finish } = planOf(check, new Pins(check), name, given)
  const value = call(...args)
  yield* (finish ? finish(value) : value) as AsyncGenerator
}
