import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { fileEffect } from '@retake/tape/format'
import { Dirent, disk, LINKS_MAX, typeOfEntry } from './disk.js'
import { flagBits, opensEmpty, opensForWriting, opensToAppend } from './open-flags.js'
import type { Overlay } from './overlay.js'
import type fs from 'node:fs'

interface ListOptions {
  readonly withFileTypes?: boolean
  readonly recursive?: boolean
  readonly encoding?: string | null
}

/** The result of `readdir` for a resolved folder that the agent calls `given`. */
function listEntries(
  overlay: Overlay,
  filePath: string,
  given: string,
  options: unknown,
): unknown[] {
  const { withFileTypes, recursive, encoding } = (
    typeof options === 'string' ? { encoding: options } : (options ?? {})
  ) as ListOptions
  const text = (name: string): string | Buffer =>
    encoding === 'buffer'
      ? Buffer.from(name)
      : encoding && encoding !== 'utf8'
        ? Buffer.from(name).toString(encoding as BufferEncoding)
        : name
  const follows = recursive === true && followsLinks(overlay, withFileTypes === true)
  const found: unknown[] = []
  const folders = [{ below: '', links: 0 }]
  for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
    const { below, links } = folder
    for (const entry of overlay.list(overlay.resolve(path.join(filePath, below)))) {
      const name = path.join(below, entry.name)
      const isLinked =
        follows &&
        links < LINKS_MAX &&
        entry.isSymbolicLink() &&
        overlay.lookAt(overlay.resolve(path.join(filePath, name)))?.isDirectory() === true
      if (recursive && (entry.isDirectory() || isLinked))
        folders.push({ below: name, links: links + (isLinked ? 1 : 0) })
      found.push(
        withFileTypes
          ? new Dirent(text(entry.name), typeOfEntry(entry), path.join(given, below))
          : text(name),
      )
    }
  }
  return found
}

const known = new Map<boolean, boolean>()

/** True if this Node lists folders behind links: always for names, and since Node 22 also for entries. */
function followsLinks(overlay: Overlay, withFileTypes: boolean): boolean {
  const before = known.get(withFileTypes)
  if (before !== undefined) return before
  const probe = disk.mkdtempSync(path.join(overlay.store.folder, 'work', 'probe-'))
  disk.mkdirSync(path.join(probe, 'folder'))
  disk.writeFileSync(path.join(probe, 'folder', 'file'), '')
  disk.symlinkSync('folder', path.join(probe, 'link'), 'junction')
  const options = { recursive: true, withFileTypes } as { recursive: true; withFileTypes: true }
  const follows = disk.readdirSync(probe, options).length > 3
  disk.rmSync(probe, { recursive: true })
  known.set(withFileTypes, follows)
  return follows
}

interface GlobOptions {
  readonly cwd?: string | URL
  readonly withFileTypes?: boolean
}

type Glob = (pattern: unknown, options?: object) => unknown[]

/** Visible matches of `glob` on disk, and those in the overlay. */
function globEntries(overlay: Overlay, pattern: unknown, options: unknown): unknown[] {
  const { globSync } = disk as unknown as { globSync: Glob }
  const given = (options ?? {}) as GlobOptions
  const folder = path.resolve(String(given.cwd ?? '.'))
  const nameOf = (match: unknown): string => {
    if (typeof match === 'string') return match
    const { parentPath, name } = match as { parentPath: string; name: string }
    return path.relative(folder, path.join(overlay.store.original(parentPath), name))
  }
  const found = new Map<string, unknown>()
  for (const match of globSync(pattern, given)) {
    const name = nameOf(match)
    if (overlay.locate(overlay.resolve(path.resolve(folder, name), false)).in !== 'nowhere')
      found.set(name, match)
  }
  const cwd = overlay.store.overlayPath(overlay.resolve(folder))
  for (const match of disk.existsSync(cwd) ? globSync(pattern, { ...given, cwd }) : []) {
    if (typeof match === 'object') {
      const entry = match as fs.Dirent
      for (const key of ['parentPath', 'path'] as const) {
        const value = (entry as unknown as Record<string, unknown>)[key]
        if (typeof value === 'string')
          Object.defineProperty(entry, key, {
            value: overlay.store.original(value),
            configurable: true,
          })
      }
    }
    found.set(nameOf(match), match)
  }
  return [...found.values()]
}

export interface OverlayCall {
  readonly args: readonly unknown[]
  /** True if the call changes something, and so is made synchronously. */
  readonly changes?: boolean
  /** Computes the answer if no native function can. */
  readonly answer?: () => unknown
  /** Called after the call succeeded; returns the agent's result. */
  readonly finish?: (value: unknown) => unknown
}

type Translate = (overlay: Overlay, args: readonly unknown[]) => OverlayCall

/** How a call by path is made on the overlay; undefined if it is made unchanged. */
export function overlayCall(
  overlay: Overlay,
  name: string,
  args: readonly unknown[],
): OverlayCall | undefined {
  const translate = CALLS[name]
  const isCovered = pathsOf(name, args).every((filePath) => overlay.covers(filePath))
  return translate === undefined || !isCovered ? undefined : translate(overlay, args)
}

/** The paths among the arguments of a function, absolute. */
export function pathsOf(name: string, args: readonly unknown[]): string[] {
  if (name === 'glob') return []
  const count = fileEffect(name) === 'copy' ? 2 : 1
  const given = name === 'symlink' ? [args[1]] : args.slice(0, count)
  return given.flatMap((filePath) => (typeof filePath === 'number' ? [] : [absolute(filePath)]))
}

export const absolute = (filePath: unknown): string => path.resolve(pathString(filePath))

const reads =
  (follow: boolean): Translate =>
  (overlay, [filePath, ...rest]) => ({
    args: [overlay.locate(overlay.resolve(absolute(filePath), follow)).at, ...rest],
  })

const writes =
  (follow: boolean): Translate =>
  (overlay, [filePath, ...rest]) => ({
    args: [overlay.forWriting(overlay.resolve(absolute(filePath), follow)), ...rest],
    changes: true,
  })

const opens =
  (flagsOf: (args: readonly unknown[]) => unknown): Translate =>
  (overlay, args) => {
    const bits = flagBits(flagsOf(args))
    if (!opensForWriting(bits)) return reads(true)(overlay, args)
    const filePath = overlay.resolve(absolute(args[0]))
    // Content that the parent appended after the branch point does not exist yet.
    if (opensToAppend(bits) && overlay.later.has(filePath)) overlay.revertAppends(filePath)
    const at = overlay.forWriting(filePath, { content: !opensEmpty(bits) })
    return { args: [at, ...args.slice(1)], changes: true }
  }

const flagOf = (options: unknown): unknown => (options as { flag?: unknown } | null)?.flag

const removes: Translate = (overlay, [filePath, ...rest]) => {
  const gone = overlay.resolve(absolute(filePath), false)
  return {
    args: [overlay.forRemoving(gone), ...rest],
    changes: true,
    finish: (value) => {
      overlay.hide(gone)
      return value
    },
  }
}

const CALLS: Readonly<Record<string, Translate>> = {
  access: reads(true),
  exists: reads(true),
  readFile: opens(([, options]) => flagOf(options)),
  stat: reads(true),
  statfs: reads(true),
  lstat: reads(false),
  readlink: (overlay, args) => ({
    ...reads(false)(overlay, args),
    finish: (value) => {
      if (typeof value === 'string') return overlay.store.original(value)
      if (!(value instanceof Uint8Array)) return value
      return Buffer.from(overlay.store.original(Buffer.from(value).toString()))
    },
  }),
  realpath: (overlay, args) => {
    const filePath = overlay.resolve(absolute(args[0]))
    const finish = (value: unknown): unknown =>
      typeof value === 'string' ? filePath : Buffer.from(filePath)
    return { ...reads(true)(overlay, args), finish }
  },
  openAsBlob: reads(true),
  opendir: reads(true),
  watch: reads(true),
  open: opens(([, flags]) => flags),
  appendFile: opens(([, , options]) => flagOf(options) ?? 'a'),
  writeFile: opens(([, , options]) => flagOf(options) ?? 'w'),
  truncate: writes(true),
  chmod: writes(true),
  chown: writes(true),
  utimes: writes(true),
  lchmod: writes(false),
  lchown: writes(false),
  lutimes: writes(false),
  unlink: removes,
  rmdir: removes,
  rm: (overlay, [filePath, options]) => {
    const gone = overlay.resolve(absolute(filePath), false)
    const { recursive } = (options ?? {}) as { recursive?: boolean }
    // A recursive removal need not distinguish empty folders.
    const at = recursive ? overlay.forWriting(gone, { content: false }) : overlay.forRemoving(gone)
    return { ...removes(overlay, [filePath, options]), args: [at, options] }
  },
  mkdir: (overlay, [filePath, options]) => {
    const isRecursive = (options as { recursive?: unknown } | null | undefined)?.recursive === true
    const broken = isRecursive ? brokenLinkIn(overlay, absolute(filePath)) : undefined
    const at = overlay.forWriting(broken ?? overlay.resolve(absolute(filePath), isRecursive))
    // The first created folder, as a part of the given path.
    const made = (value: unknown): unknown => {
      if (typeof value !== 'string') return value
      const levels = path.relative(value, at).split(path.sep).filter(Boolean).length
      let folder = pathString(filePath)
      for (let level = 0; level < levels; level += 1) folder = path.dirname(folder)
      return folder
    }
    return { args: [at, options], changes: true, finish: made }
  },
  mkdtemp: (overlay, [prefix, options]) => {
    const text = pathString(prefix)
    const folder = /[\\/]$/.test(text) ? text : path.dirname(text)
    const rest = text.slice(folder === '.' && !text.startsWith('.') ? 0 : folder.length)
    const at = overlay.forWriting(overlay.resolve(path.resolve(folder)))
    const start = path.join(at, path.sep) + rest.replace(/^[\\/]+/, '')
    const back = (made: string): string => text + made.slice(start.length)
    return {
      args: [start, options],
      changes: true,
      finish: (made) => (typeof made === 'string' ? back(made) : Buffer.from(back(String(made)))),
    }
  },
  symlink: (overlay, [target, filePath, type]) => ({
    args: [target, overlay.forWriting(overlay.resolve(absolute(filePath), false)), type],
    changes: true,
  }),
  link: (overlay, [from, to]) => ({
    args: [
      overlay.forWriting(overlay.resolve(absolute(from), false)),
      overlay.forWriting(overlay.resolve(absolute(to), false)),
    ],
    changes: true,
  }),
  copyFile: (overlay, [from, to, mode]) => ({
    args: [
      overlay.locate(overlay.resolve(absolute(from))).at,
      overlay.forWriting(overlay.resolve(absolute(to)), { content: false }),
      mode,
    ],
    changes: true,
  }),
  cp: (overlay, [from, to, options]) => {
    const source = overlay.resolve(absolute(from), false)
    const isFolder = overlay.lookAt(source)?.isDirectory() === true
    const { filter, ...rest } = (options ?? {}) as {
      filter?: (from: string, to: string) => unknown
    }
    return {
      args: [
        isFolder ? overlay.forMoving(source) : overlay.locate(source).at,
        overlay.forMoving(overlay.resolve(absolute(to))),
        {
          ...rest,
          ...(filter && {
            filter: (a: string, b: string) =>
              filter(overlay.store.original(a), overlay.store.original(b)),
          }),
        },
      ],
      changes: true,
    }
  },
  rename: (overlay, [from, to]) => {
    const source = overlay.resolve(absolute(from), false)
    const target = overlay.resolve(absolute(to), false)
    const isFolder = overlay.lookAt(source)?.isDirectory() === true
    return {
      args: [overlay.forMoving(source), overlay.forRemoving(target)],
      changes: true,
      finish: (value) => {
        if (source !== target) overlay.hide(source)
        // The content of the disk below the target is not that of the moved folder.
        if (isFolder) overlay.hide(target)
        return value
      },
    }
  },
  readdir: (overlay, args) => {
    const call = reads(true)(overlay, args)
    const filePath = overlay.resolve(absolute(args[0]))
    if (overlay.lookAt(filePath)?.isDirectory() !== true) return call
    return { ...call, answer: () => listEntries(overlay, filePath, pathString(args[0]), args[1]) }
  },
  glob: (overlay, args) => ({ args, answer: () => globEntries(overlay, args[0], args[1]) }),
}

/** A broken link on the way to a path, behind which nothing can be created. */
function brokenLinkIn(overlay: Overlay, filePath: string): string | undefined {
  const parent = path.dirname(filePath)
  const above = parent === filePath ? undefined : brokenLinkIn(overlay, parent)
  if (above !== undefined) return above
  const link = overlay.resolve(filePath, false)
  const isBroken =
    overlay.lookAt(link)?.isSymbolicLink() === true &&
    overlay.lookAt(overlay.resolve(filePath)) === undefined
  return isBroken ? link : undefined
}

export const pathString = (filePath: unknown): string =>
  filePath instanceof URL
    ? fileURLToPath(filePath)
    : filePath instanceof Uint8Array
      ? Buffer.from(filePath).toString()
      : String(filePath)

/** Makes a call that changes something, with the synchronous function. */
export function changeOverlay(overlay: Overlay, name: string, args: readonly unknown[]): unknown {
  return overlay.change(() => {
    const call = overlayCall(overlay, name, args)
    const native = (disk as unknown as Record<string, (...given: unknown[]) => unknown>)[
      `${name}Sync`
    ]
    const value = native?.(...(call?.args ?? args))
    return call?.finish ? call.finish(value) : value
  })
}

/** The error as it would be without an overlay, with the agent's paths. */
export function originalError(
  overlay: Overlay,
  error: unknown,
  given: readonly unknown[],
  used: readonly unknown[],
): unknown {
  if (!(error instanceof Error)) return error
  const swap = (text: string): string => {
    let swapped = text
    for (const [index, arg] of used.entries()) {
      const before = given[index]
      const isPath =
        typeof before === 'string' || before instanceof URL || before instanceof Uint8Array
      if (typeof arg === 'string' && isPath && arg !== before && arg.length > 1)
        swapped = swapped.replaceAll(arg, pathString(before))
    }
    return overlay.store.original(swapped)
  }
  for (const key of ['message', 'stack', 'path', 'dest'] as const) {
    const value = (error as unknown as Record<string, unknown>)[key]
    if (typeof value !== 'string') continue
    Object.defineProperty(error, key, {
      value: swap(value),
      writable: true,
      configurable: true,
      enumerable: key === 'path' || key === 'dest',
    })
  }
  return error
}
