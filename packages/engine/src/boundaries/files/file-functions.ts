import { outsideRuns } from '../../kernel/scope.js'
import { plain, type Encoded, type ResultForm } from '../patching/captured-call.js'
import type { FileFunction } from './file-natives.js'
import { entries, statFs, stats } from './file-values.js'

/**
 * Kind of a parameter:
 * - `path`: a path, or for `glob` a pattern or a list of them
 * - `fd`: an open descriptor; `file`: a path or a descriptor
 * - `data`: the content of a write
 * - `flags`: how to open; `options`: an encoding or an object; `number`: a mode, a length, an id
 *   or a time
 */
export type Input = 'path' | 'fd' | 'file' | 'data' | 'flags' | 'options' | 'number'

export interface FileShape {
  readonly inputs: readonly Input[]
  readonly required: number
  readonly form: ResultForm
}

export function takes(list: string, form: ResultForm = plain): FileShape {
  const inputs = list.split(' ') as Input[]
  const required = inputs.filter((input) => isPathOrDescriptor(input) || input === 'data').length
  return { inputs, required, form }
}

/** True if a parameter names the file, rather than the content or the options. */
export const isPathOrDescriptor = (input: Input | undefined): boolean =>
  input === 'path' || input === 'fd' || input === 'file'

/**
 * Functions of `node:fs` that differ only in their parameters and results. Each exists
 * as `name`, `nameSync` and, for most, `promises.name`, all with these parameters.
 */
export const fileFunctions: Readonly<Record<string, FileShape>> = {
  access: takes('path number'),
  appendFile: takes('file data options'),
  chmod: takes('path number'),
  chown: takes('path number number'),
  close: takes('fd'),
  copyFile: takes('path path number'),
  cp: takes('path path options'),
  exists: takes('path'),
  fchmod: takes('fd number'),
  fchown: takes('fd number number'),
  fdatasync: takes('fd'),
  fstat: takes('fd options', stats),
  fsync: takes('fd'),
  ftruncate: takes('fd number'),
  futimes: takes('fd number number'),
  glob: takes('path options', entries),
  lchmod: takes('path number'),
  lchown: takes('path number number'),
  link: takes('path path'),
  lstat: takes('path options', stats),
  lutimes: takes('path number number'),
  mkdir: takes('path options'),
  mkdtemp: takes('path options'),
  open: takes('path flags number'),
  readFile: takes('file options'),
  readdir: takes('path options', entries),
  readlink: takes('path options'),
  realpath: takes('path options'),
  rename: takes('path path'),
  rm: takes('path options'),
  rmdir: takes('path options'),
  stat: takes('path options', stats),
  statfs: takes('path options', statFs),
  symlink: takes('path path options'),
  truncate: takes('file number'),
  unlink: takes('path'),
  utimes: takes('path number number'),
  writeFile: takes('file data options'),
}

/**
 * Throws Node's error for invalid arguments before anything is recorded. Tries unusual arguments on
 * a path that cannot exist, with `sync`, the synchronous form of the function.
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

/** Makes a call that must fail; rethrows only errors about its arguments. */
export function tryOut(call: () => unknown): void {
  try {
    outsideRuns(call)
  } catch (error) {
    const { errno, code } = error as NodeJS.ErrnoException
    if (errno !== undefined || /^ERR_(?:FS_|ACCESS_)/.test(String(code))) return
    throw error
  }
}

/** A path below a file, where nothing can be read, created or removed. */
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

export function encodeData(data: unknown, encoding: BufferEncoding = 'utf8'): Encoded {
  if (typeof data === 'string')
    return { as: /^utf-?8$/i.test(encoding) ? 'text' : 'bytes', body: Buffer.from(data, encoding) }
  return ArrayBuffer.isView(data) ? { as: 'bytes', body: bytesOf(data) } : {}
}

export const bytesOf = (view: ArrayBufferView): Buffer =>
  Buffer.from(view.buffer, view.byteOffset, view.byteLength)

export function encodingOf(options: unknown): BufferEncoding {
  const { encoding } = (typeof options === 'string' ? { encoding: options } : (options ?? {})) as {
    encoding?: BufferEncoding | null
  }
  return encoding ?? 'utf8'
}
