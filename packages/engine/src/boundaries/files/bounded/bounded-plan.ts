import path from 'node:path'
import type { Dirent } from 'node:fs'
import { lookAt, resolvePlace } from '../../../guard/bounds/resolve-place.js'
import type { FileAccess } from '../../../guard/bounds/scopes.js'
import { disk } from '../../../overlay/disk.js'
import { flagBits, opensForWriting, opensNew, opensToRead } from '../../../overlay/open-flags.js'
import { outsideRuns } from '../../../scope.js'
import type { AskedBounds } from './asked-bounds.js'
import { askGlob } from './bounded-glob.js'
import { askTree } from './bounded-tree.js'
import { askDescriptor, disownDescriptor, isOwn, ownDescriptor } from './own-descriptors.js'
import { pathArgument } from './path-argument.js'
import type { Pins } from './pins.js'

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY, COPYFILE_EXCL } = disk.constants

/** A call of `node:fs` that is allowed: with what it is made, and what its answer becomes. */
export interface BoundedPlan {
  readonly args: readonly unknown[]
  readonly finish?: (value: unknown) => unknown
}

type MakePlan = (call: BoundedCall) => BoundedPlan

/** One call on its way past the bounds. */
export interface BoundedCall {
  readonly asked: AskedBounds
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
  asked: AskedBounds,
  pins: Pins,
  name: string,
  given: readonly unknown[],
): BoundedPlan | undefined {
  const args = given.map(readOnce)
  if (typeof args[0] === 'number') return onDescriptor(asked, name, args)
  if (TAKES_DESCRIPTOR.test(name)) return undefined
  const make = PLANS[name]
  if (make === undefined) throw new Error(`Retake invariant broken: fs.${name} has no bounds`)
  if (name === 'loadEnvFile') args[0] ??= '.env'
  if (name !== 'glob') {
    for (let index = 0; index < (TWO_PLACES.has(name) ? 2 : 1); index++) {
      const text = pathArgument(asked, args[index])
      if (text === undefined) return undefined
      args[index] = text
    }
  }
  return make({ asked, pins, args })
}

const TWO_PLACES = new Set(['copyFile', 'cp', 'link', 'rename', 'symlink'])

/** Options with getters could say something else the second time. */
function readOnce(arg: unknown): unknown {
  const isPlain =
    typeof arg === 'object' && arg !== null && !ArrayBuffer.isView(arg) && !Array.isArray(arg)
  if (!isPlain || arg instanceof Date || 'href' in arg || Symbol.iterator in arg) return arg
  if (Symbol.asyncIterator in arg || 'fd' in arg) return arg
  return { ...arg }
}

const textOf = ({ args }: BoundedCall, index = 0): string => args[index] as string

const TAKES_DESCRIPTOR =
  /^(?:close|f(?:chmod|chown|datasync|stat|sync|truncate)|futimes|readv?|writev?)$/

const WRITES_DESCRIPTOR =
  /^(?:appendFile|fchmod|fchown|ftruncate|futimes|truncate|write|writeFile|writev)$/

function onDescriptor(asked: AskedBounds, name: string, args: readonly unknown[]): BoundedPlan {
  const fd = args[0] as number
  if (name === 'close' && isOwn(asked, fd)) disownDescriptor(asked, fd)
  else askDescriptor(asked, WRITES_DESCRIPTOR.test(name) ? 'write' : 'read', fd)
  return { args }
}

/** What is at the end of the path. */
const onTarget =
  (access: FileAccess): MakePlan =>
  (call) => ({ args: [call.pins.target([access], textOf(call)), ...call.args.slice(1)] })

/** The entry itself. */
const onEntry =
  (access: FileAccess): MakePlan =>
  (call) => {
    const at = call.pins.entry((text) => call.asked.askEntry(access, text), textOf(call))
    return { args: [at, ...call.args.slice(1)] }
  }

const removes: MakePlan = (call) => ({
  args: [removed(call, 0), ...call.args.slice(1)],
})

const removed = (call: BoundedCall, index: number): string =>
  call.pins.entry((text) => call.asked.askRemoval(text), textOf(call, index))

/** Looks without changing anything; its answer holds the path, so the path is used as it is. */
const looks: MakePlan = ({ asked, args }) => {
  asked.ask('read', args[0] as string)
  return { args }
}

/** Opens a file with these flags, whatever it does with it then. */
function opens(call: BoundedCall, flags: unknown): { at: string; bits: number } {
  const bits = flagBits(flags)
  const accesses: FileAccess[] = []
  if (opensToRead(bits)) accesses.push('read')
  if (opensForWriting(bits)) accesses.push('write')
  const text = textOf(call)
  // These do not follow a link at the end either.
  if (opensNew(bits) || (bits & O_NOFOLLOW) !== 0) {
    const ask = (each: string): void => accesses.forEach((access) => call.asked.ask(access, each))
    return { at: call.pins.entry(ask, text), bits }
  }
  const creates = (bits & O_CREAT) !== 0
  const at = call.pins.target(accesses, text, creates)
  // A name in a held folder: a link that is put there now is not followed.
  return { at, bits: creates && !/^\/proc\/self\/fd\/\d+$/.test(at) ? bits | O_NOFOLLOW : bits }
}

/** `readFile`, `writeFile` and `appendFile`, with their options at this place. */
const opensWhole =
  (index: number, usual: string): MakePlan =>
  (call) => {
    const { args } = call
    const options = typeof args[index] === 'string' ? { encoding: args[index] } : args[index]
    const { flag } = (options ?? {}) as { flag?: unknown }
    const { at, bits } = opens(call, flag ?? usual)
    const rest = args.slice(1)
    if (bits !== flagBits(flag ?? usual)) rest[index - 1] = { ...(options as object), flag: bits }
    return { args: [at, ...rest] }
  }

const PLANS: Readonly<Record<string, MakePlan>> = {
  access: onTarget('read'),
  appendFile: opensWhole(2, 'a'),
  chmod: onTarget('write'),
  chown: onTarget('write'),
  copyFile: (call) => {
    const { asked, pins, args } = call
    const mode = (args[2] ?? 0) as number
    const from = pins.target(['read'], textOf(call))
    const to = textOf(call, 1)
    const isThere = resolvePlace(from)?.stats !== undefined
    if ((mode & COPYFILE_EXCL) !== 0 || !isThere || asked.session !== undefined) {
      const at = pins.entry((text) => asked.ask('write', text), to)
      return { args: [from, at, mode] }
    }
    const at = pins.target(['write'], to, true)
    // Made first, so that a link which is put there meanwhile is not followed.
    if (!/^\/proc\/self\/fd\/\d+\/[^/]+$/.test(at)) return { args: [from, at, mode] }
    const fd = outsideRuns(() => disk.openSync(at, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW))
    return { args: [from, pins.keep(fd, to), mode] }
  },
  cp: ({ asked, args }) => {
    const [from, to, ...options] = args as [string, string, ...unknown[]]
    askTree(asked, from, to)
    return { args: [from, to, ...options] }
  },
  exists: onTarget('read'),
  glob: ({ asked, args }) => askGlob(asked, args),
  lchmod: onEntry('write'),
  lchown: onEntry('write'),
  link: (call) => {
    const ask = (text: string): void => (
      call.asked.ask('read', text),
      call.asked.ask('write', text)
    )
    const from = call.pins.entry(ask, textOf(call))
    return {
      args: [from, call.pins.entry((text) => call.asked.ask('write', text), textOf(call, 1))],
    }
  },
  loadEnvFile: onTarget('read'),
  lstat: onEntry('read'),
  lutimes: onEntry('write'),
  mkdir: (call) => {
    const finish = (value: unknown): unknown =>
      typeof value === 'string' ? call.pins.unpinned(value) : value
    return { ...onEntry('write')(call), finish }
  },
  mkdtempDisposable: ({ asked, args }) => {
    asked.ask('write', `${args[0] as string}XXXXXX`)
    return { args }
  },
  mkdtemp: (call) => {
    const prefix = textOf(call)
    const at = call.pins.entry((text) => call.asked.ask('write', text), `${prefix}XXXXXX`)
    const [options] = call.args.slice(1)
    const finish = (value: unknown): unknown => {
      const made = prefix + String(value).slice(-'XXXXXX'.length)
      return typeof value === 'string' ? made : Buffer.from(made)
    }
    return { args: [at.slice(0, -'XXXXXX'.length), options], finish }
  },
  open: (call) => {
    const { at, bits } = opens(call, call.args[1])
    const finish = (value: unknown): unknown => {
      ownDescriptor(call.asked, value)
      return value
    }
    const [, flags, ...rest] = call.args
    return { args: [at, bits === flagBits(flags) ? (flags ?? 'r') : bits, ...rest], finish }
  },
  openAsBlob: (call) => ({
    ...onTarget('read')(call),
    // Node's own would read the file when it is asked for, by its path.
    finish: async (value) => {
      const blob = value as Blob
      return new Blob([await blob.arrayBuffer()], { type: blob.type })
    },
  }),
  openAsBlobSync: looks,
  opendir: looks,
  readFile: opensWhole(1, 'r'),
  readdir: (call) => {
    const plan = onTarget('read')(call)
    const { withFileTypes } = (call.args[1] ?? {}) as { withFileTypes?: boolean }
    if (withFileTypes !== true) return plan
    return { ...plan, finish: (value) => (value as Dirent[]).map((each) => unpinned(call, each)) }
  },
  readlink: onEntry('read'),
  realpath: looks,
  rename: (call) => {
    const [from, to] = call.args as [string, string]
    const stats = lookAt(from)
    // A link that is moved leads somewhere else, if it is relative.
    if (stats?.isSymbolicLink() === true) askLink(call, disk.readlinkSync(from), to)
    return { args: [removed(call, 0), removed(call, 1)] }
  },
  rm: removes,
  rmdir: removes,
  stat: onTarget('read'),
  statfs: onTarget('read'),
  symlink: (call) => {
    const [target, at, ...rest] = call.args as [string, string, ...unknown[]]
    askLink(call, target, at)
    return {
      args: [target, call.pins.entry((text) => call.asked.askEntry('write', text), at), ...rest],
    }
  },
  truncate: onTarget('write'),
  unlink: removes,
  utimes: onTarget('write'),
  watch: looks,
  watchFile: looks,
  writeFile: opensWhole(2, 'w'),
}

/** A link may only lead to where the tool may go itself. */
function askLink({ asked }: BoundedCall, target: string, at: string): void {
  const folder = path.dirname(resolvePlace(at, { follow: false })?.real ?? path.resolve(at))
  const place = path.isAbsolute(target) ? target : `${folder}/${target}`
  asked.ask('write', place)
  asked.ask('read', place)
}

/** An entry names the folder it was found in. */
function unpinned({ pins }: BoundedCall, entry: Dirent): Dirent {
  const fields = entry as unknown as Record<string, unknown>
  for (const key of ['path', 'parentPath']) {
    const folder = Object.getOwnPropertyDescriptor(fields, key)?.value as unknown
    if (typeof folder === 'string') fields[key] = pins.unpinned(folder)
  }
  return entry
}
