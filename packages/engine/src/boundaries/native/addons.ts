import { attempt } from '@retake/tape/format'
import { createRequire } from 'node:module'
import { noteBoundary } from '../patching/note-boundary.js'
import path from 'node:path'
import { callSite } from '../../kernel/call-site.js'
import { errors } from '../../errors.js'
import { currentSession } from '../../kernel/scope.js'
import type { Session } from '../../kernel/session.js'
import { inTurn } from '../patching/in-turn.js'
import { lookFirst, replace, type Undo, undoAll } from '../patching/patch.js'
import { fileURLToPath } from 'node:url'
import { disk } from '../../overlay/disk.js'

const SPECIFIER = /(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\s*\(\s*)(['"])([^'"\n]+)\1/g
const ENDINGS = ['', '.js', '.mjs', '.cjs', '.ts', '.mts', '.tsx', '/index.js', '/index.ts']
const FILES_MAX = 500
const FRAME = /(file:\/\/[^\s()]+|(?:\/|[A-Za-z]:\\)[^()]*?):\d+:\d+\)?$/

/**
 * Where the agent imports the package that loads `addon`, as `path:line:column`. An ES module is
 * not on the stack while its imports load, so its text and that of the files it imports are
 * searched. Undefined if none of them names the package.
 */
function importSite(addon: string): string | undefined {
  const packages = new Set([addon, ...packagesOnStack()])
  const [, entry] = process.argv
  const waiting = entry === undefined ? [] : [path.resolve(entry)]
  const seen = new Set(waiting)
  for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
    const text = attempt(() => disk.readFileSync(file, 'utf8'), '')
    for (const match of text.matchAll(SPECIFIER)) {
      const specifier = match[2] ?? ''
      const isFound = [...packages].some(
        (name) => specifier === name || specifier.startsWith(`${name}/`),
      )
      const before = text.slice(0, match.index).split('\n')
      if (isFound) return `${file}:${before.length}:${(before.at(-1)?.length ?? 0) + 1}`
      const next = /^\.{1,2}\//.test(specifier)
        ? find(path.resolve(file, '..', specifier))
        : undefined
      if (next === undefined || seen.has(next) || seen.size >= FILES_MAX) continue
      seen.add(next)
      waiting.push(next)
    }
  }
  return undefined
}

function packagesOnStack(): string[] {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 60
  const stack = String(new Error().stack)
  Error.stackTraceLimit = stackTraceLimit
  return stack.split('\n').flatMap((line) => {
    const [, file = ''] = FRAME.exec(line) ?? []
    const filePath = file.startsWith('file:') ? fileURLToPath(file) : file
    const name = filePath.split(/[\\/]node_modules[\\/]/).at(-1)
    const [scope = '', inner = ''] = name === filePath ? [] : (name ?? '').split(/[\\/]/)
    return scope === '' ? [] : [scope.startsWith('@') ? `${scope}/${inner}` : scope]
  })
}

function find(base: string): string | undefined {
  const written = base.replace(/\.([cm]?)js$/, '.$1ts')
  return [...ENDINGS.map((ending) => base + ending), written].find((file) =>
    disk.statSync(file, { throwIfNoEntry: false })?.isFile(),
  )
}

interface AddonModule {
  exports: unknown
}

type Open = (module: AddonModule, file: string, ...flags: unknown[]) => void

/**
 * Packages whose add-on only computes: the same arguments give the same result, and nothing outside
 * its own memory changes. They really run, in record and replay.
 */
const PURE = [
  'bufferutil',
  'utf-8-validate',
  'msgpackr-extract',
  '@msgpackr-extract/*',
  'cbor-extract',
  '@cbor-extract/*',
  '@node-rs/crc32*',
  '@node-rs/xxhash*',
  '@node-rs/jieba*',
  'lightningcss-*',
  '@oxc-parser/*',
  '@oxc-transform/*',
  '@swc/core-*',
]

let declaredPure: readonly string[] = []

export function declarePureAddons(packages: readonly string[]): void {
  declaredPure = packages
}

export function patchAddons(): Undo {
  const native = process.dlopen.bind(process) as Open
  const open: Open = (module, file, ...flags) => {
    const capture = [...captures].find((each) => each.matches(file))
    if (capture !== undefined) return openCaptured(native, module, [file, ...flags], capture)
    const session = currentSession()
    native(module, file, ...flags)
    const name = packageOf(file)
    if (isOneOf(declaredPure, name)) module.exports = withFunctions(module.exports, inOrder)
    if (session === undefined || isOneOf([...PURE, ...declaredPure], name)) return
    if (session.local === 'tape') module.exports = withFunctions(module.exports, refusing(name))
    else {
      const site = callSite() ?? importSite(name)
      session.note({
        kind: 'boundary',
        name: `${name} (native add-on)`,
        text: 'what native code does is not captured; wrap its calls in tool(), or list it under pureAddons in retake.config if it only computes',
        consequence: 'stops-at-use',
        ...(site !== undefined && { site }),
      })
    }
  }
  return replace(process, 'dlopen', open)
}

/** An add-on whose calls go through the run. */
export interface AddonCapture {
  /** True for the file of the add-on. */
  matches(file: string): boolean
  /** What the program gets as its exports. `load` returns the real ones; it is never called on replay. */
  exports(load: () => object): object
  /** Captures an add-on that was loaded before Retake. */
  adopt(exports: object): Undo
}

const captures = new Set<AddonCapture>()

export function captureAddon(capture: AddonCapture): Undo {
  captures.add(capture)
  const { cache } = createRequire(import.meta.url)
  const adopted = Object.entries(cache).flatMap(([file, module]) => {
    const exports = module?.exports as object | undefined
    return exports !== undefined && capture.matches(file) ? [capture.adopt(exports)] : []
  })
  return undoAll([() => void captures.delete(capture), ...adopted])
}

/** On replay the add-on itself is not loaded. */
function openCaptured(
  native: Open,
  module: AddonModule,
  [file, ...flags]: [file: string, ...flags: unknown[]],
  capture: AddonCapture,
): void {
  let loaded: object | undefined
  const load = (): object => {
    if (loaded === undefined) {
      const own: AddonModule = { exports: {} }
      native(own, file, ...flags)
      loaded = own.exports as object
    }
    return loaded
  }
  // While recording, a file that cannot be loaded must fail here, as it would without Retake.
  if (currentSession()?.local !== 'tape') load()
  module.exports = capture.exports(load)
}

/** Name of the package that contains a file; the file itself if it is not in a package. */
function packageOf(file: string): string {
  const parts = file.split(/[\\/]/)
  const at = parts.lastIndexOf('node_modules')
  const [scope = '', name = ''] = parts.slice(at + 1)
  if (at < 0) return path.basename(file)
  return scope.startsWith('@') ? `${scope}/${name}` : scope
}

const isOneOf = (patterns: readonly string[], name: string): boolean =>
  patterns.some((pattern) =>
    pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern,
  )

/** Makes, or replaces, a call of a function of an add-on. */
type Around = (args: unknown[], call: (args: unknown[]) => unknown) => unknown

/** Refuses to run while a tape answers. */
const refusing =
  (addon: string): Around =>
  (args, call) => {
    const session = currentSession()
    if (session?.local === 'tape') {
      // Throws while a tape answers; a rerun goes live here.
      const error = errors.ADDON_NOT_REPLAYABLE(addon)
      session.refuse?.(error)
      if (session.local === 'tape') throw error
    }
    return call(args)
  }

/**
 * An add-on that only computes may do so in threads. Its promises and callbacks settle in the
 * recorded order. A callback that is called before the function returns is left alone.
 */
const inOrder: Around = (args, call) => {
  const session = currentSession()
  if (session === undefined) return call(args)
  const callback = args.at(-1)
  if (typeof callback === 'function') return callbackInOrder(session, args, callback, call)
  const result = call(args)
  if (!(result instanceof Promise)) return result
  return new Promise((resolve) => {
    const settle = (done: (answer: undefined) => void): void => {
      const settled = (): void => done(undefined)
      void result.then(settled, settled)
    }
    inTurn(session, WORK, settle, () => resolve(result))
  })
}

function callbackInOrder(
  session: Session,
  args: readonly unknown[],
  callback: Function,
  call: (args: unknown[]) => unknown,
): unknown {
  let hasReturned = false
  let isCalled = false
  let done: ((answer: () => void) => void) | undefined
  const result = call([
    ...args.slice(0, -1),
    function (this: unknown, ...answer: unknown[]): unknown {
      const isFirst = !isCalled
      isCalled = true
      if (!hasReturned || !isFirst) return callback.apply(this, answer) as unknown
      return done?.(() => void callback.apply(this, answer))
    },
  ])
  hasReturned = true
  if (!isCalled)
    inTurn<() => void>(
      session,
      WORK,
      (settled) => (done = settled),
      (answer) => answer(),
    )
  return result
}

const WORK = 'native add-on'

/**
 * The exports of an add-on, with functions and classes wrapped. Constants, names, `typeof` and
 * `instanceof` are unchanged.
 */
function withFunctions(exports: unknown, around: Around): unknown {
  const copies = new Map<unknown, unknown>()
  const originals = new WeakMap<object, unknown>()
  const original = (copy: unknown): unknown => originals.get(Object(copy) as object) ?? copy
  const copyOf = (value: unknown): unknown => {
    if (typeof value !== 'function' && (typeof value !== 'object' || value === null)) return value
    if (copies.has(value)) return copies.get(value)
    const prototype = prototypeOf(value)
    const isConstant = isBuiltIn(prototype) && prototype !== Object.prototype && prototype !== null
    if (typeof value === 'object' && isConstant) return value
    const copy =
      typeof value === 'function' ? wrapped(value) : (Object.create(shadowOf(prototype)) as object)
    copies.set(value, copy)
    originals.set(copy, value)
    copyProperties(value, copy)
    return copy
  }
  function copyProperties(from: object, to: object): void {
    for (const [key, property] of Object.entries(Object.getOwnPropertyDescriptors(from))) {
      const own = Object.getOwnPropertyDescriptor(to, key)
      if (key === 'prototype' || own?.configurable === false) continue
      const { get, set } = property
      const copied: PropertyDescriptor =
        'value' in property ? { ...property, value: copyOf(property.value) } : { ...property }
      if (get)
        copied.get = function (this: unknown): unknown {
          return get.call(original(this))
        }
      if (set)
        copied.set = function (this: unknown, value: unknown): void {
          set.call(original(this), value)
        }
      Object.defineProperty(to, key, { ...copied, configurable: true })
    }
  }
  /** Hides the methods that an exported instance inherits from classes of the add-on. */
  function shadowOf(prototype: object | null): object | null {
    if (isBuiltIn(prototype)) return prototype
    const known = copies.get(prototype)
    if (known !== undefined) return known
    const shadow = Object.create(prototype) as object
    copies.set(prototype, shadow)
    const classes: object[] = []
    for (let each = prototype; each !== null && !isBuiltIn(each); each = prototypeOf(each))
      classes.unshift(each)
    for (const each of classes) copyProperties(each, shadow)
    return shadow
  }
  function wrapped(native: Function): object {
    const wrapper = function (this: unknown, ...args: unknown[]): unknown {
      const self = original(this)
      const target = new.target === wrapper ? native : new.target
      return around(args, (given) =>
        target === undefined ? native.apply(self, given) : Reflect.construct(native, given, target),
      )
    }
    wrapper.prototype = native.prototype as unknown
    return wrapper
  }
  return copyOf(exports)
}

const prototypeOf = (value: object): object | null => Object.getPrototypeOf(value) as object | null

/** True for the prototypes of the language, such as those of plain objects and arrays. */
function isBuiltIn(prototype: object | null): boolean {
  const name = prototype?.constructor?.name ?? ''
  const known = (globalThis as Record<string, unknown>)[name] as Function | undefined
  return prototype === null || known?.prototype === prototype
}

const OUTSIDE_BINDINGS = /_wrap$|^fs$|^spawn_sync$/

/** Functions that give access to Node's internals and bypass every boundary. */
export const patchBindings = (): Undo =>
  undoAll(
    ['binding', '_linkedBinding'].map((method) =>
      lookFirst(process, method, ([name]) => {
        const session = currentSession()
        if (session === undefined || !OUTSIDE_BINDINGS.test(String(name))) return
        const what = `process.${method}('${String(name)}')`
        if (session.local === 'tape') throw errors.BOUNDARY_NOT_REPLAYABLE(what)
        noteBoundary(session, {
          name: what,
          text: 'calls below the modules of Node are not captured',
          consequence: 'stops',
        })
      }),
    ),
  )
