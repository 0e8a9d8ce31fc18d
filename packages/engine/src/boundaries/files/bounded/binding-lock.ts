import { types } from 'node:util'
import { flagBits, opensForWriting, opensToRead } from '../../../overlay/open-flags.js'
import { currentBounds, outsideRuns } from '../../../scope.js'
import { isNodesOwn } from '../file-wrapper.js'
import { AskedBounds } from './asked-bounds.js'
import { isCode } from './is-code.js'
import { pathArgument } from './path-argument.js'
import { NOWHERE } from './pins.js'

type Ask = (asked: AskedBounds, paths: readonly string[], flags: unknown) => void

const opens: Ask = (asked, [path = ''], flags) => {
  const bits = flagBits(flags)
  if (opensToRead(bits)) asked.ask('read', path)
  if (opensForWriting(bits)) asked.ask('write', path)
}
const reads: Ask = (asked, [path = '']) => asked.ask('read', path)
const writes: Ask = (asked, [path = '']) => asked.ask('write', path)
const entry: Ask = (asked, [path = '']) => asked.askEntry('write', path)
const entries: Ask = (asked, paths) => paths.forEach((path) => asked.askEntry('write', path))
const copies: Ask = (asked, [from = '', to = '']) => {
  asked.ask('read', from)
  asked.ask('write', to)
}

/** Functions below `node:fs` by which content is read, or anything is changed. */
const FUNCTIONS: Readonly<Record<string, Ask>> = {
  open: opens,
  openFileHandle: opens,
  readFileUtf8: opens,
  readdir: reads,
  chmod: writes,
  chown: writes,
  mkdtemp: writes,
  utimes: writes,
  writeFileUtf8: writes,
  lchown: entry,
  lutimes: entry,
  mkdir: entry,
  rmdir: entry,
  rmSync: entry,
  unlink: entry,
  link: (asked, [from = '', to = '']) => (asked.ask('write', from), asked.ask('write', to)),
  rename: entries,
  symlink: (asked, [, path = '']) => asked.askEntry('write', path),
  copyFile: copies,
  cpSyncCopyDir: copies,
  cpSyncOverrideFile: copies,
}

let isLocked = false

/**
 * Asks once more where `node:fs` hands over to the system, for functions that a library took
 * from `node:fs` before it was patched. Only processes with a policy about files pay for it.
 * What merely looks (`stat` and the like) is not asked about here, and a path is not held.
 */
export function lockBinding(): void {
  if (isLocked) return
  isLocked = true
  const binding = bindingOf()
  for (const [name, ask] of Object.entries(FUNCTIONS)) {
    const native = binding?.[name]
    if (binding !== undefined && native !== undefined) binding[name] = asking(name, native, ask)
  }
}

type Native = (...args: unknown[]) => unknown

function asking(name: string, native: Native, ask: Ask): Native {
  const locked = function (this: unknown, ...args: unknown[]): unknown {
    const bounds = currentBounds()
    if (bounds.length > 0) look(bounds, args)
    return native.apply(this, args)
  }
  const look = (bounds: ReturnType<typeof currentBounds>, args: unknown[]): void => {
    const asked = new AskedBounds(bounds)
    if (!asked.haveScopes || !isPath(args[0]) || args[0] === NOWHERE) return
    const isReading = name === 'readFileUtf8' || !opensForWriting(flagBits(args[1]))
    if (ask === opens && isReading && isCode('readFile', args[0]) && isNodesOwn(locked, BELOW))
      return
    const paths = args.slice(0, 2).filter(isPath)
    ask(
      asked,
      paths.map((path) => pathArgument(asked, path) ?? ''),
      args[1],
    )
  }
  return locked
}

/** Parts of Node between a loader and the system. */
const BELOW = /^node:(?:fs$|internal\/fs\/)/

const isPath = (value: unknown): boolean => typeof value === 'string' || types.isUint8Array(value)

function bindingOf(): Record<string, Native> | undefined {
  const owner = process as unknown as { binding?: (name: string) => Record<string, Native> }
  const { noDeprecation } = process
  // The one way there is; it is deprecated so that programs do not come to rely on it.
  process.noDeprecation = true
  try {
    return outsideRuns(() => owner.binding?.('fs'))
  } catch {
    return undefined
  } finally {
    if (noDeprecation === undefined) Reflect.deleteProperty(process, 'noDeprecation')
    else process.noDeprecation = noDeprecation
  }
}
