import { fileURLToPath } from 'node:url'
import { natives } from './natives.js'

/** This package, as stacks name it: by URL, or by path when source maps are on. */
const HOME = new URL('..', import.meta.url)
export const HOMES = [HOME.href, fileURLToPath(HOME)]
const FRAME = /\(?((?:file:\/\/|node:|\/|[A-Za-z]:\\)[^()]*?):(\d+):(\d+)\)?$/

/** Most calls come straight from the agent; only those inside a library look further. */
const NEAR_FRAMES = 6
const ALL_FRAMES = 40

/** How this Node prints a stack, unless a program or a loader with source maps prints its own. */
const nativePrepare = Reflect.get(Error, 'prepareStackTrace')
/** A test runner may have put its own there before this was loaded. */
const isNodesOwn =
  nativePrepare === undefined || String(nativePrepare).includes('internalPrepareStackTrace')

/**
 * Where in the agent's code we are, as `path:line:column`; the nearest frame
 * outside Retake, Node and node_modules, following awaits. Undefined when the
 * whole stack is library code.
 */
export function callSite(): string | undefined {
  const isPlain = isNodesOwn && Error.prepareStackTrace === nativePrepare
  if (!isPlain || process.sourceMapsEnabled) return printedSite()
  return nearestSite(NEAR_FRAMES) ?? nearestSite(ALL_FRAMES)
}

/**
 * Finds the call site of an operation a little later, through the promise that `resolve`
 * belongs to. An async function that returns a promise without `await` is linked to it in a
 * later microtask; until then its callers are missing from the stack. The agent cannot see
 * this: nothing of its own is awaited or reordered.
 */
export function findSiteLater(
  resolve: (value: never) => void,
  found: (site: string) => void,
): void {
  const look = (): Promise<never> => {
    const site = callSite()
    if (site !== undefined) found(site)
    return new Promise(() => {})
  }
  // V8 continues the stack of a reaction with whatever awaits the promise that it settles.
  const lookFromReaction = (): void => void Promise.resolve().then(look).then(resolve)
  // A tick that a microtask queues runs after all microtasks; one that a tick queues may not.
  natives.queueMicrotask(() => natives.nextTick(lookFromReaction))
}

/** Looks at frames one by one: printing all of them takes longer than a whole exchange may. */
function nearestSite(depth: number): string | undefined {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = depth
  Error.prepareStackTrace = agentFrame
  const holder: { stack?: string } = {}
  try {
    Error.captureStackTrace(holder, callSite)
    return holder.stack
  } finally {
    Error.prepareStackTrace = nativePrepare
    Error.stackTraceLimit = limit
  }
}

function agentFrame(_error: unknown, frames: readonly NodeJS.CallSite[]): string | undefined {
  for (const frame of frames) {
    const file = frame.getFileName()
    const path = file ? agentPath(file) : undefined
    if (path !== undefined) return `${path}:${frame.getLineNumber()}:${frame.getColumnNumber()}`
  }
  return undefined
}

/** The same from the stack as it is printed, where source maps have been applied. */
function printedSite(): string | undefined {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = ALL_FRAMES
  const holder: { stack?: string } = {}
  Error.captureStackTrace(holder, callSite)
  const stack = String(holder.stack)
  Error.stackTraceLimit = limit
  for (const line of stack.split('\n').slice(1)) {
    const match = FRAME.exec(line)
    const path = match?.[1] && agentPath(match[1])
    if (path) return `${path}:${match?.[2]}:${match?.[3]}`
  }
  return undefined
}

const paths = new Map<string, string | undefined>()

/** Path of a file of the agent; undefined for Node's, Retake's and installed packages' files. */
function agentPath(file: string): string | undefined {
  if (paths.has(file)) return paths.get(file)
  const isLibrary =
    file.startsWith('node:') ||
    HOMES.some((home) => file.startsWith(home)) ||
    file.includes('/node_modules/') ||
    file.includes('\\node_modules\\')
  const url = file.split('?')[0] ?? file
  const path = isLibrary ? undefined : file.startsWith('file://') ? fileURLToPath(url) : file
  if (paths.size < PATHS_MAX) paths.set(file, path)
  return path
}

/** Files with ever new names, like modules loaded with a query, must not fill the memory. */
const PATHS_MAX = 10_000

/** Whether one of the nearest `depth` callers is part of `module`, for example `node:internal/modules`. */
export function calledFrom(module: string, depth: number): boolean {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = depth
  const holder: { stack?: string } = {}
  Error.captureStackTrace(holder, calledFrom)
  const found = holder.stack?.includes(module) ?? false
  Error.stackTraceLimit = limit
  return found
}

/**
 * True if `callee` was called by the program or one of its packages; false for Node,
 * Retake and the test runner.
 */
export function calledByAgent(callee: Function): boolean {
  const prepare: unknown = Reflect.get(Error, 'prepareStackTrace')
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = CALLER_FRAMES
  Error.prepareStackTrace = nearestFile
  const holder: { stack?: string } = {}
  try {
    Error.captureStackTrace(holder, callee)
    const file = holder.stack
    if (file === undefined) return true
    return (
      !file.startsWith('node:') &&
      !HOMES.some((home) => file.startsWith(home)) &&
      runner?.test(file) !== true
    )
  } finally {
    Reflect.set(Error, 'prepareStackTrace', prepare)
    Error.stackTraceLimit = limit
  }
}

/** Built-in functions such as `Object.keys` have frames of their own, without a file. */
const CALLER_FRAMES = 4

const nearestFile = (_error: unknown, frames: readonly NodeJS.CallSite[]): string | undefined =>
  frames.map((frame) => frame.getFileName()).find((file) => file !== null && file !== undefined) ??
  undefined

let runner: RegExp | undefined

/**
 * Names the files of the test runner this process belongs to. It measures how
 * long the agent's modules take to load, on the agent's own stack; those looks
 * at the clock are not the agent's.
 */
export function ignoreRunner(files: RegExp): void {
  runner = files
}

/** Whether the test runner itself called `callee`; looks at nothing when none was named. */
export function calledByRunner(callee: Function): boolean {
  if (runner === undefined) return false
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 1
  const holder: { stack?: string } = {}
  Error.captureStackTrace(holder, callee)
  const found = runner.test(String(holder.stack))
  Error.stackTraceLimit = limit
  return found
}
