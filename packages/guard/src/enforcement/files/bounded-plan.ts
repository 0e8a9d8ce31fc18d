import type { FileCheck } from './file-check.js'
import { FILE_PLANS } from './file-plans.js'
import { checkDescriptor, disownDescriptor, isOwn } from './own-descriptors.js'
import { pathArgument } from './path-argument.js'
import type { Pins } from './pins.js'

/** A call of `node:fs` that is allowed: with what it is made, and what its answer becomes. */
export interface BoundedPlan {
  readonly args: readonly unknown[]
  readonly finish?: (value: unknown) => unknown
}

export type MakePlan = (call: BoundedCall) => BoundedPlan

/** One call on its way past the bounds. */
export interface BoundedCall {
  readonly check: FileCheck
  readonly pins: Pins
  /** The arguments, with paths as text and options read once. */
  readonly args: readonly unknown[]
}

/**
 * Asks the bounds about everything that a call touches, and says how to make it so that it
 * touches just that. Throws what was refused; undefined when the arguments are none that
 * Node takes.
 */
export function boundedPlan(
  check: FileCheck,
  pins: Pins,
  name: string,
  given: readonly unknown[],
): BoundedPlan | undefined {
  const args = given.map(readOnce)
  if (typeof args[0] === 'number') return onDescriptor(check, name, args)
  if (TAKES_DESCRIPTOR.test(name)) return undefined
  const make = FILE_PLANS[name]
  if (make === undefined) throw new Error(`Retake invariant broken: fs.${name} has no bounds`)
  if (name === 'loadEnvFile') args[0] ??= '.env'
  if (name !== 'glob') {
    for (let index = 0; index < (TWO_PATHS.has(name) ? 2 : 1); index++) {
      const text = pathArgument(check, args[index])
      if (text === undefined) return undefined
      args[index] = text
    }
  }
  return make({ check, pins, args })
}

const TWO_PATHS = new Set(['copyFile', 'cp', 'link', 'rename', 'symlink'])

/** Options with getters could say something else the second time. */
function readOnce(arg: unknown): unknown {
  const isPlain =
    typeof arg === 'object' && arg !== null && !ArrayBuffer.isView(arg) && !Array.isArray(arg)
  if (!isPlain || arg instanceof Date || 'href' in arg || Symbol.iterator in arg) return arg
  if (Symbol.asyncIterator in arg || 'fd' in arg) return arg
  return { ...arg }
}

const TAKES_DESCRIPTOR =
  /^(?:close|f(?:chmod|chown|datasync|stat|sync|truncate)|futimes|readv?|writev?)$/

const WRITES_DESCRIPTOR =
  /^(?:appendFile|fchmod|fchown|ftruncate|futimes|truncate|write|writeFile|writev)$/

function onDescriptor(check: FileCheck, name: string, args: readonly unknown[]): BoundedPlan {
  const fd = args[0] as number
  if (name === 'close' && isOwn(check, fd)) disownDescriptor(check, fd)
  else checkDescriptor(check, WRITES_DESCRIPTOR.test(name) ? 'write' : 'read', fd)
  return { args }
}
