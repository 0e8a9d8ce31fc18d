import { outsideRuns } from '../../scope.js'
import { isPathOrDescriptor } from './file-functions.js'
import type { FileShape, Input } from './file-functions.js'
import type { FileFunction } from './file-natives.js'

/**
 * Throws what Node would throw for arguments it refuses, before anything is
 * recorded. Arguments that look unusual are tried on a place that cannot exist,
 * with `sync`, the synchronous twin of the function.
 */
export function checkArguments(
  { inputs }: FileShape,
  args: readonly unknown[],
  sync: FileFunction | undefined,
): void {
  const isUsualCall = inputs.every((input, index) => isUsual(input, args[index]))
  if (isUsualCall && args.length <= inputs.length) return
  const harmless = args.map((arg, index) => withoutTarget(inputs[index] ?? 'number', arg))
  tryOut(() => sync?.(...harmless))
}

/** Runs a call that cannot succeed; only a refusal of its arguments is thrown on. */
export function tryOut(call: () => unknown): void {
  try {
    outsideRuns(call)
  } catch (error) {
    const { errno, code } = error as NodeJS.ErrnoException
    if (errno !== undefined || /^ERR_(?:FS_|ACCESS_)/.test(String(code))) return
    throw error
  }
}

/** Below a file nothing can be read, made or removed. */
const MISSING_PATH = `${process.execPath}/retake`
export const NO_DESCRIPTOR = 0x7fff_ffff

function withoutTarget(input: Input, arg: unknown): unknown {
  if (!isPathOrDescriptor(input) || !isUsual(input, arg)) return arg
  return typeof arg === 'number' ? NO_DESCRIPTOR : MISSING_PATH
}

const FLAGS = /^(?:r|rs|w|wx|a|ax|as)\+?$/

function isUsual(input: Input, arg: unknown): boolean {
  switch (input) {
    case 'path':
      return isPath(arg)
    case 'fd':
      return isDescriptor(arg)
    case 'file':
      return isPath(arg) || isDescriptor(arg)
    case 'data':
      return typeof arg === 'string' || ArrayBuffer.isView(arg)
    case 'flags':
      return arg === undefined || (typeof arg === 'string' && FLAGS.test(arg))
    case 'number':
      return arg === undefined || isDescriptor(arg) || arg instanceof Date
    case 'options':
      return arg === undefined || isEncoding(arg) || isUsualObject(arg)
  }
}

export function isPath(arg: unknown): boolean {
  if (typeof arg === 'string') return !arg.includes('\0')
  if (arg instanceof URL) return arg.protocol === 'file:' && !arg.pathname.includes('%')
  return arg instanceof Uint8Array && !arg.includes(0)
}

export const isDescriptor = (arg: unknown): arg is number =>
  typeof arg === 'number' && Number.isInteger(arg) && arg >= 0 && arg <= NO_DESCRIPTOR

const isEncoding = (arg: unknown): boolean =>
  typeof arg === 'string' && (Buffer.isEncoding(arg) || arg === 'buffer')

const SWITCHES = new Set(['recursive', 'withFileTypes', 'bigint', 'force', 'throwIfNoEntry'])

function isUsualObject(arg: unknown): boolean {
  if (typeof arg !== 'object' || arg === null) return false
  return Object.entries(arg).every(([key, value]) => {
    if (value === undefined) return true
    if (key === 'encoding') return value === null || isEncoding(value)
    if (key === 'flag') return typeof value === 'string' && FLAGS.test(value)
    return SWITCHES.has(key) && typeof value === 'boolean'
  })
}
