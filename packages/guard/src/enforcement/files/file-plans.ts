import path from 'node:path'
import type { Dirent } from 'node:fs'
import {
  disk,
  flagBits,
  opensForWriting,
  opensNew,
  opensToRead,
  outsideRuns,
} from '@retake/engine/hook'
import { statOf, resolvePath } from '../../bounds/resolve-path.js'
import type { FileAccess } from '../../bounds/scopes.js'
import type { BoundedCall, BoundedPlan, MakePlan } from './bounded-plan.js'
import { ownDescriptor } from './own-descriptors.js'
import type { FileCheck } from './file-check.js'
import { pathArgument } from './path-argument.js'

/** Opens a file with these flags, whatever it does with it then. */
function plannedOpen(call: BoundedCall, flags: unknown): { at: string; bits: number } {
  const bits = flagBits(flags)
  const accesses: FileAccess[] = []
  if (opensToRead(bits)) accesses.push('read')
  if (opensForWriting(bits)) accesses.push('write')
  const text = call.args[0] as string
  // These do not follow a link at the end either.
  if (opensNew(bits) || (bits & O_NOFOLLOW) !== 0) {
    const inspect = (each: string): void =>
      accesses.forEach((access) => call.check.access(access, each))
    return { at: call.pins.entry(inspect, text), bits }
  }
  const creates = (bits & O_CREAT) !== 0
  const at = call.pins.target(accesses, text, creates)
  // A name in a pinned folder: a link that is created now is not followed.
  return { at, bits: creates && !/^\/proc\/self\/fd\/\d+$/.test(at) ? bits | O_NOFOLLOW : bits }
}

/** `readFile`, `writeFile` and `appendFile`, with their options at this index. */
const opensWhole =
  (index: number, usual: string): MakePlan =>
  (call) => {
    const { args } = call
    const options = typeof args[index] === 'string' ? { encoding: args[index] } : args[index]
    const { flag } = (options ?? {}) as { flag?: unknown }
    const { at, bits } = plannedOpen(call, flag ?? usual)
    const rest = args.slice(1)
    if (bits !== flagBits(flag ?? usual)) rest[index - 1] = { ...(options as object), flag: bits }
    return { args: [at, ...rest] }
  }

/** The first character that makes a pattern of a path. */
const MAGIC = /[*?[{!+@(]/

/** `..` as a name of its own, also as one of several in braces. */
const CLIMBS = /(?:^|[/\\{,(|])\.\.(?:[/\\},)|]|$)/

/**
 * Asks about the folder that a search starts in, and about every match before it is handed
 * out: a pattern may lead through links.
 */
function checkGlob(check: FileCheck, args: readonly unknown[]): BoundedPlan {
  const [given, options] = args as [unknown, { readonly cwd?: unknown } | undefined]
  const cwd = path.resolve(pathArgument(check, options?.cwd ?? '.') ?? '.')
  const patterns = (Array.isArray(given) ? given : [given]).map(String)
  for (const pattern of patterns) {
    const [fixed = ''] = pattern.split(MAGIC, 1)
    const folder = fixed === pattern ? fixed : fixed.slice(0, fixed.lastIndexOf('/') + 1)
    check.access('read', path.isAbsolute(folder) ? folder : `${cwd}/${folder}`)
    // Where it climbs from is only known when it is there.
    if (CLIMBS.test(pattern.slice(folder.length))) check.access('unseen', pattern)
  }
  const match = (found: string | Dirent): unknown => {
    const location = typeof found === 'string' ? found : path.join(found.parentPath, found.name)
    check.access('read', path.resolve(cwd, location))
    return found
  }
  return {
    args: [Array.isArray(given) ? patterns : patterns[0], { ...options, cwd }],
    finish: (value) =>
      Array.isArray(value)
        ? value.map(match)
        : matchLater(value as AsyncIterable<string | Dirent>, match),
  }
}

async function* matchLater(
  found: AsyncIterable<string | Dirent>,
  match: (found: string | Dirent) => unknown,
): AsyncGenerator {
  for await (const each of found) yield match(each)
}

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY, COPYFILE_EXCL } = disk.constants

const textOf = ({ args }: BoundedCall, index = 0): string => args[index] as string

/** Plans a call on the target of a path. */
const onTarget =
  (access: FileAccess): MakePlan =>
  (call) => ({ args: [call.pins.target([access], textOf(call)), ...call.args.slice(1)] })

/** The entry itself. */
const onEntry =
  (access: FileAccess): MakePlan =>
  (call) => {
    const at = call.pins.entry((text) => call.check.entry(access, text), textOf(call))
    return { args: [at, ...call.args.slice(1)] }
  }

const removes: MakePlan = (call) => ({
  args: [removed(call, 0), ...call.args.slice(1)],
})

const removed = (call: BoundedCall, index: number): string =>
  call.pins.entry((text) => call.check.removal(text), textOf(call, index))

/** Looks without changing anything; its answer contains the path, so the path is not pinned. */
const looks: MakePlan = ({ check, args }) => {
  check.access('read', args[0] as string)
  return { args }
}

/** How each function of `node:fs` that takes a path is made within bounds. */
export const FILE_PLANS: Readonly<Record<string, MakePlan>> = {
  access: onTarget('read'),
  appendFile: opensWhole(2, 'a'),
  chmod: onTarget('write'),
  chown: onTarget('write'),
  copyFile: (call) => {
    const { check, pins, args } = call
    const mode = (args[2] ?? 0) as number
    const from = pins.target(['read'], textOf(call))
    const to = textOf(call, 1)
    const isThere = resolvePath(from)?.stats !== undefined
    if ((mode & COPYFILE_EXCL) !== 0 || !isThere || check.session !== undefined) {
      const at = pins.entry((text) => check.access('write', text), to)
      return { args: [from, at, mode] }
    }
    const at = pins.target(['write'], to, true)
    // Made first, so that a link which is put there meanwhile is not followed.
    if (!/^\/proc\/self\/fd\/\d+\/[^/]+$/.test(at)) return { args: [from, at, mode] }
    const fd = outsideRuns(() => disk.openSync(at, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW))
    return { args: [from, pins.keep(fd, to), mode] }
  },
  cp: ({ check, args }) => {
    const [from, to, ...options] = args as [string, string, ...unknown[]]
    checkTree(check, from, to)
    return { args: [from, to, ...options] }
  },
  exists: onTarget('read'),
  glob: ({ check, args }) => checkGlob(check, args),
  lchmod: onEntry('write'),
  lchown: onEntry('write'),
  link: (call) => {
    const inspect = (text: string): void => (
      call.check.access('read', text),
      call.check.access('write', text)
    )
    const from = call.pins.entry(inspect, textOf(call))
    return {
      args: [from, call.pins.entry((text) => call.check.access('write', text), textOf(call, 1))],
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
  mkdtempDisposable: ({ check, args }) => {
    check.access('write', `${args[0] as string}XXXXXX`)
    return { args }
  },
  mkdtemp: (call) => {
    const prefix = textOf(call)
    const at = call.pins.entry((text) => call.check.access('write', text), `${prefix}XXXXXX`)
    const [options] = call.args.slice(1)
    const finish = (value: unknown): unknown => {
      const made = prefix + String(value).slice(-'XXXXXX'.length)
      return typeof value === 'string' ? made : Buffer.from(made)
    }
    return { args: [at.slice(0, -'XXXXXX'.length), options], finish }
  },
  open: (call) => {
    const { at, bits } = plannedOpen(call, call.args[1])
    const finish = (value: unknown): unknown => {
      ownDescriptor(call.check, value)
      return value
    }
    const [, flags, ...rest] = call.args
    return { args: [at, bits === flagBits(flags) ? (flags ?? 'r') : bits, ...rest], finish }
  },
  openAsBlob: (call) => ({
    ...onTarget('read')(call),
    // Node's own would read the file later, by its path.
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
    const stats = statOf(from)
    // A link that is moved leads somewhere else, if it is relative.
    if (stats?.isSymbolicLink() === true) checkLink(call, disk.readlinkSync(from), to)
    return { args: [removed(call, 0), removed(call, 1)] }
  },
  rm: removes,
  rmdir: removes,
  stat: onTarget('read'),
  statfs: onTarget('read'),
  symlink: (call) => {
    const [target, at, ...rest] = call.args as [string, string, ...unknown[]]
    checkLink(call, target, at)
    return {
      args: [target, removed(call, 1), ...rest],
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
function checkLink({ check }: BoundedCall, target: string, at: string): void {
  const folder = path.dirname(resolvePath(at, { follow: false })?.real ?? path.resolve(at))
  const location = path.isAbsolute(target) ? target : `${folder}/${target}`
  check.access('write', location)
  check.access('read', location)
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

/**
 * Asks about all that `cp` may read and write: every file below the source, where links in
 * it lead, and where each is copied to. Entries that are added while it copies are not seen.
 */
function checkTree(check: FileCheck, from: string, to: string): void {
  const pending: [from: string, to: string][] = [[from, to]]
  for (let pair = pending.pop(); pair !== undefined; pair = pending.pop()) {
    const [source, target] = pair
    check.access('read', source)
    check.access('write', target)
    const stats = statOf(source)
    // The copy is a link to the same target.
    if (stats?.isSymbolicLink() === true) check.access('write', source)
    if (stats?.isDirectory() !== true) continue
    for (const name of outsideRuns(() => disk.readdirSync(source)))
      pending.push([path.join(source, name), path.join(target, name)])
  }
}
