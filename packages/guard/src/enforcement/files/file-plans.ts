import path from 'node:path'
import {
  disk,
  flagBits,
  opensForWriting,
  opensNew,
  opensToRead,
  outsideRuns,
} from '@retake/engine/hook'
import { resolvePath, statOf } from '@retake/runner/sandbox'
import type { FileAccess } from '../../bounds/scopes.js'
import { type FileCheck, pathArgument, type Pins } from './file-check.js'

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY, COPYFILE_EXCL } = disk.constants

/** Checks the paths among the arguments, which are strings, and replaces them by pinned ones. */
type Plan = (pins: Pins, args: unknown[]) => void

const target =
  (access: FileAccess): Plan =>
  (pins, args) => {
    args[0] = pins.target([access], args[0] as string)
  }

const entry =
  (access: FileAccess): Plan =>
  (pins, args) => {
    args[0] = pins.entry((text) => pins.check.entry(access, text), args[0] as string)
  }

const made =
  (index: number): Plan =>
  (pins, args) => {
    args[index] = pins.entry((text) => pins.check.access('write', text), args[index] as string)
  }

const removed =
  (index: number): Plan =>
  (pins, args) => {
    args[index] = pins.entry((text) => pins.check.removal(text), args[index] as string)
  }

/** `index` is the position of the flags, if they may be changed. */
const opens =
  (flagsOf: (args: readonly unknown[]) => unknown, index?: number): Plan =>
  (pins, args) => {
    const bits = flagBits(flagsOf(args))
    const accesses: FileAccess[] = []
    if (opensToRead(bits)) accesses.push('read')
    if (opensForWriting(bits)) accesses.push('write')
    const text = args[0] as string
    const isEntry = opensNew(bits) || (bits & O_NOFOLLOW) !== 0
    args[0] = isEntry
      ? pins.entry((at) => accesses.forEach((access) => pins.check.access(access, at)), text)
      : pins.target(accesses, text, (bits & O_CREAT) !== 0)
    // Do not follow a link that was created since the check.
    const isName = /^\/proc\/self\/fd\/\d+\//.test(String(args[0]))
    if (index !== undefined && (bits & O_CREAT) !== 0 && isName) args[index] = bits | O_NOFOLLOW
  }

const opensAt = (index: number): Plan => opens((args) => args[index], index)

const opensWith = (index: number, usual: string): Plan =>
  opens((args) => (args[index] as { flag?: unknown } | null | undefined)?.flag ?? usual)

const copies: Plan = (pins, args) => {
  const [from, to, mode = 0] = args as [string, string, number?]
  args[0] = pins.target(['read'], from)
  const isThere = resolvePath(String(args[0]))?.stats !== undefined
  if ((mode & COPYFILE_EXCL) !== 0 || !isThere || pins.check.session !== undefined)
    return made(1)(pins, args)
  const at = pins.target(['write'], to, true)
  // Create the copy here, so that a link created since the check is not followed.
  const isNew = /^\/proc\/self\/fd\/\d+\/[^/]+$/.test(at)
  args[1] = isNew
    ? pins.pinDescriptor(
        outsideRuns(() => disk.openSync(at, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)),
        to,
      )
    : at
}

/** Checks everything below the source, including links, and its copies. */
const copiesTree: Plan = ({ check }, args) => {
  const pending: [from: string, to: string][] = [args.slice(0, 2) as [string, string]]
  for (let pair = pending.pop(); pair !== undefined; pair = pending.pop()) {
    const [source, copy] = pair
    check.access('read', source)
    check.access('write', copy)
    const stats = statOf(source)
    // The copy will be a link to the same target.
    if (stats?.isSymbolicLink() === true) check.access('write', source)
    if (stats?.isDirectory() !== true) continue
    for (const name of outsideRuns(() => disk.readdirSync(source)))
      pending.push([path.join(source, name), path.join(copy, name)])
  }
}

/** Not pinned, because the function returns the path. */
const makesTemporary: Plan = ({ check }, args) =>
  check.access('write', `${args[0] as string}XXXXXX`)

/** Functions that are checked in `node:fs`. */
export const LOOKS: Readonly<Record<string, Plan>> = {
  access: target('look'),
  exists: target('look'),
  loadEnvFile: target('read'),
  lstat: entry('look'),
  openAsBlob: target('read'),
  openAsBlobSync: target('read'),
  opendir: target('read'),
  // The binding shows links that lead out as empty, for libraries that walk a tree.
  readdir: target('read'),
  readlink: entry('read'),
  realpath: target('look'),
  stat: target('look'),
  statfs: target('look'),
  watch: target('read'),
  watchFile: target('read'),
}

/** Functions that read or change files, by their names in Node's binding. */
export const BINDING_PLANS: Readonly<Record<string, Plan>> = {
  chmod: target('write'),
  chown: target('write'),
  copyFile: copies,
  cpSyncCopyDir: copiesTree,
  cpSyncOverrideFile: copiesTree,
  lchown: entry('write'),
  link: (pins, args) => {
    const inspect = (text: string): void => (
      pins.check.access('read', text),
      pins.check.access('write', text)
    )
    args[0] = pins.entry(inspect, args[0] as string)
    made(1)(pins, args)
  },
  lutimes: entry('write'),
  mkdir: (pins, args) => {
    const inspect = (text: string): void => pins.check.entry('write', text)
    const [text, mode, isRecursive] = args as [string, number, boolean?]
    args[0] = isRecursive === true ? pins.newFolder(inspect, text, mode) : pins.entry(inspect, text)
  },
  mkdtemp: makesTemporary,
  open: opensAt(1),
  openFileHandle: opensAt(1),
  readFileUtf8: opensAt(1),
  readdir: target('read'),
  rename: (pins, args) => {
    const [from, to] = args as [string, string]
    // A relative link that moves has another target.
    if (statOf(from)?.isSymbolicLink() === true) pins.check.link(disk.readlinkSync(from), to)
    // Moving a file may make it readable.
    if (path.dirname(path.resolve(from)) !== path.dirname(path.resolve(to)))
      pins.check.entry('read', from)
    removed(0)(pins, args)
    removed(1)(pins, args)
  },
  rmSync: removed(0),
  rmdir: removed(0),
  symlink: (pins, args) => {
    pins.check.link(args[0] as string, args[1] as string)
    removed(1)(pins, args)
  },
  unlink: removed(0),
  utimes: target('write'),
  writeFileUtf8: opensAt(2),
}

/** All functions of `node:fs`, for a run inside the tool. */
export const FILE_PLANS: Readonly<Record<string, Plan>> = {
  ...BINDING_PLANS,
  ...LOOKS,
  appendFile: opensWith(2, 'a'),
  cp: copiesTree,
  lchmod: entry('write'),
  mkdtempDisposable: makesTemporary,
  open: opens((args) => args[1] ?? 'r'),
  readFile: opensWith(1, 'r'),
  rm: removed(0),
  truncate: target('write'),
  writeFile: opensWith(2, 'w'),
}

const TWO_PATHS = /^(?:copyFile|cp.*|link|rename|symlink)$/

/** Converts path arguments to strings. False if one is not a path. */
export function readPaths(check: FileCheck, name: string, args: unknown[]): boolean {
  for (let index = 0; index < (TWO_PATHS.test(name) ? 2 : 1); index++) {
    const text = pathArgument(check, args[index])
    if (text === undefined) return false
    args[index] = text
  }
  return true
}
