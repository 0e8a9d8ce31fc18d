import path from 'node:path'
import type { Dirent } from 'node:fs'
import { disk, flagBits, outsideRuns } from '@retake/engine/hook'
import { lookAt, resolvePlace } from '../../bounds/resolve-place.js'
import type { FileAccess } from '../../bounds/scopes.js'
import { askGlob } from './bounded-glob.js'
import type { BoundedCall, MakePlan } from './bounded-plan.js'
import { askTree } from './bounded-tree.js'
import { ownDescriptor } from './own-descriptors.js'
import { opensWhole, plannedOpen } from './planned-open.js'

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY, COPYFILE_EXCL } = disk.constants

const textOf = ({ args }: BoundedCall, index = 0): string => args[index] as string

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

/** How each function of `node:fs` that takes a path is made within bounds. */
export const FILE_PLANS: Readonly<Record<string, MakePlan>> = {
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
    const { at, bits } = plannedOpen(call, call.args[1])
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
