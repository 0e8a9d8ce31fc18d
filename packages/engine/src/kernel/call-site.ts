import { AsyncLocalStorage } from 'node:async_hooks'
import { fileURLToPath } from 'node:url'
import { natives } from './natives.js'

/** Prefixes of Retake's files in stacks: a URL, or a path if source maps are on. */
export const OWN_PREFIXES: string[] = []

/** Declares a package as part of Retake, so that its frames do not count as the agent's. */
export function addOwnPackage(root: URL): void {
  OWN_PREFIXES.push(root.href, fileURLToPath(root))
}

const FRAME = /\(?((?:file:\/\/|node:|\/|[A-Za-z]:\\)[^()]*?):(\d+):(\d+)\)?$/

/** Most calls come directly from the agent; only those inside a library need a deeper look. */
const NEAR_FRAMES = 6
const ALL_FRAMES = 40
/** True if the last call came from deep inside a library, as the next one probably will. */
let wasDeep = false

/** Node's own formatting of stacks, unless a program or a source-map loader replaces it. */
const nativePrepare = Reflect.get(Error, 'prepareStackTrace')
/** A test runner may have replaced it before this module was loaded. */
const isNodesOwn =
  nativePrepare === undefined || String(nativePrepare).includes('internalPrepareStackTrace')

/**
 * Current line of the agent's code, as `path:line:column`: the nearest frame outside Retake, Node
 * and node_modules, following awaits. Undefined if the whole stack is library code.
 */
export function callSite(callee: Function = callSite): string | undefined {
  if (!wasDeep && isPlain()) {
    const site = agentFrame(framesOf(capture(NEAR_FRAMES, callee)))
    if (site !== undefined) return site
  }
  const frames = framesOf(capture(ALL_FRAMES, callee))
  const site = agentFrame(frames)
  wasDeep = !frames.slice(0, NEAR_FRAMES).some((frame) => pathOf(frame) !== undefined)
  return site
}

/** The call site as a field of an event, if it is known. */
export function siteField(): { readonly site?: string } {
  const site = callSite(siteField)
  return site === undefined ? {} : { site }
}

/**
 * Finds the call site of an operation a little later, through the promise that `resolve` belongs
 * to. An async function that returns a promise without `await` is linked to it in a later
 * microtask; until then its callers are missing from the stack. If the agent is not on that stack
 * either, uses the site of the `Origin`, if any. The agent cannot notice: none of its own promises
 * are awaited or reordered.
 */
export function findSiteLater(
  resolve: (value: never) => void,
  found: (site: string) => void,
): void {
  const look = (): Promise<never> => {
    const site = callSite() ?? origins.getStore()?.site
    if (site !== undefined) found(site)
    return new Promise(() => {})
  }
  // V8 continues the stack of a reaction with the functions that await the promise it settles.
  const lookFromReaction = (): void => void Promise.resolve().then(look).then(resolve)
  // A tick that a microtask queues runs after all microtasks; one that a tick queues may not.
  natives.queueMicrotask(() => natives.nextTick(lookFromReaction))
}

/**
 * The agent's call of a package, for work that the package starts without awaiting it, whose stack
 * ends inside the package. Only known for work that runs from a timer without delay, or that
 * listens to an abort signal created for it by the package.
 */
class Origin {
  /** Reading a stack takes longer than capturing it, and most stacks are never read. */
  #stack: Stack | undefined
  #site: string | undefined

  constructor(callee: Function) {
    this.#stack = capture(ALL_FRAMES, callee)
  }

  /** Undefined if the agent's own code made the call. */
  get site(): string | undefined {
    if (this.#stack !== undefined) {
      const frames = framesOf(this.#stack)
      const nearest = frames.map((frame) => frame.getFileName()).find((file) => file)
      if (nearest && isPackage(nearest)) this.#site = agentFrame(frames)
    }
    this.#stack = undefined
    return this.#site
  }
}

const origins = new AsyncLocalStorage<Origin>()

/** Makes a timer. If a package called `callee` to do so, the callback gets the origin of that call. */
export function withCallerOrigin<T>(callee: Function, makeTimer: () => T): T {
  const origin = new Origin(callee)
  // If the agent is not on the stack, the origin of the surrounding work is the closest one.
  return origin.site === undefined ? makeTimer() : origins.run(origin, makeTimer)
}

/** Signals of packages, until the turn ends: a longer-lived signal may serve other calls of the agent. */
const signalOrigins = new Map<AbortSignal, Origin>()
const SIGNALS_MAX = 1000

/** Remembers where a signal comes from, if a package called `callee` to make it. */
export function noteSignalOrigin(callee: Function, signal: AbortSignal): void {
  if (signalOrigins.size >= SIGNALS_MAX) return
  if (signalOrigins.size === 0)
    natives.queueMicrotask(() => natives.nextTick(() => signalOrigins.clear()))
  signalOrigins.set(signal, new Origin(callee))
}

/** Gives the work that starts to listen to `signal` the origin of the signal. */
export function adoptSignalOrigin(
  signal: AbortSignal,
  isInPackage = (): boolean => callSite() === undefined,
): void {
  const origin = signalOrigins.get(signal)
  // With the agent on the stack, everything that it does next would get this origin, too.
  if (origin?.site !== undefined && isInPackage()) origins.enterWith(origin)
}

export interface Callers {
  /** Lines of the agent's code on the stack, nearest first, as `path:line:column`. */
  readonly sites: readonly string[]
  /** Whose code is nearest, apart from Node and Retake; undefined if there is only their code. */
  readonly nearest: 'agent' | 'package' | undefined
}

export function callers(): Callers {
  const frames = framesOf(capture(ALL_FRAMES, callers))
  const sites = frames.flatMap((frame) => agentFrame([frame]) ?? [])
  const first = frames.flatMap((frame) => frame.getFileName() || []).find(isForeign)
  const nearest = first === undefined ? undefined : isPackage(first) ? 'package' : 'agent'
  return { sites, nearest }
}

type Stack = { readonly stack?: unknown }
type Frame = Pick<NodeJS.CallSite, 'getFileName' | 'getLineNumber' | 'getColumnNumber'>

function capture(depth: number, callee: Function): Stack {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = depth
  const target: Stack = {}
  Error.captureStackTrace(target, callee)
  Error.stackTraceLimit = limit
  return target
}

/** False if a stack must be read as printed, because source maps are applied only there. */
const isPlain = (): boolean =>
  isNodesOwn && Error.prepareStackTrace === nativePrepare && !process.sourceMapsEnabled

/** Inspects frames one by one, because printing all of them takes longer than a whole exchange. */
function framesOf(target: Stack): readonly Frame[] {
  if (!isPlain()) return printedFrames(String(target.stack))
  Error.prepareStackTrace = asFrames
  try {
    const { stack } = target
    return Array.isArray(stack) ? (stack as Frame[]) : printedFrames(String(stack))
  } finally {
    Error.prepareStackTrace = nativePrepare
  }
}

const asFrames = (_error: unknown, frames: readonly NodeJS.CallSite[]) => frames

const printedFrames = (stack: string): Frame[] =>
  stack
    .split('\n')
    .slice(1)
    .flatMap((text) => {
      const [, file, line, column] = FRAME.exec(text) ?? []
      if (file === undefined) return []
      return {
        getFileName: () => file,
        getLineNumber: () => Number(line),
        getColumnNumber: () => Number(column),
      }
    })

function agentFrame(frames: readonly Frame[]): string | undefined {
  for (const frame of frames) {
    const path = pathOf(frame)
    if (path !== undefined) return `${path}:${frame.getLineNumber()}:${frame.getColumnNumber()}`
  }
  return undefined
}

function pathOf(frame: Frame): string | undefined {
  const file = frame.getFileName()
  return file ? agentPath(file) : undefined
}

const paths = new Map<string, string | undefined>()
let moved: { readonly recorded: string; readonly current: string } | undefined

/** From now on, sites in a copy of the program name the recorded files. */
export function nameSitesAsRecorded(root: NonNullable<typeof moved>): void {
  moved = root
  paths.clear()
}

/** Path of an agent file; undefined for files of Node, Retake and installed packages. */
function agentPath(file: string): string | undefined {
  if (paths.has(file)) return paths.get(file)
  const isAgents = isForeign(file) && !isPackage(file)
  const url = file.split('?')[0] ?? file
  const here = isAgents ? (file.startsWith('file://') ? fileURLToPath(url) : file) : undefined
  const path = moved && here ? recordedPath(here, moved) : here
  if (paths.size < PATHS_MAX) paths.set(file, path)
  return path
}

const recordedPath = (file: string, { recorded, current }: NonNullable<typeof moved>): string =>
  /^[\\/]/.test(file.slice(current.length)) && file.startsWith(current)
    ? recorded + file.slice(current.length)
    : file

/** True for files that belong neither to Node nor to Retake. */
const isForeign = (file: string): boolean =>
  !file.startsWith('node:') && !OWN_PREFIXES.some((own) => file.startsWith(own))

const isPackage = (file: string): boolean => /[/\\]node_modules[/\\]/.test(file) && isForeign(file)

/** Bounds the memory for files with ever new names, such as modules loaded with a query. */
const PATHS_MAX = 10_000

/** True if one of the nearest `depth` callers is part of `module`, for example `node:internal/modules`. */
export const calledFrom = (module: string, depth: number): boolean =>
  callerFiles(calledFrom, depth).some((file) => file.includes(module))

/**
 * True if `callee` was called by the program or one of its packages; false for Node,
 * Retake and the test runner.
 */
export function calledByAgent(callee: Function): boolean {
  const [file] = callerFiles(callee, CALLER_FRAMES)
  return file === undefined || (isForeign(file) && runner?.test(file) !== true)
}

/** The file of the nearest caller outside Retake. */
export function nearestCaller(): string | undefined {
  const files = callerFiles(nearestCaller, CALLER_FRAMES + OWN_FRAMES)
  return files.find((file) => !OWN_PREFIXES.some((own) => file.startsWith(own)))
}

/** Frames between a patched function and the check of its caller. */
const OWN_FRAMES = 4
/** Built-in functions such as `Object.keys` have their own frames, without a file. */
const CALLER_FRAMES = 4

/** Files of the nearest frames; skips frames without a file. */
function callerFiles(callee: Function, depth: number): readonly string[] {
  const prepare: unknown = Reflect.get(Error, 'prepareStackTrace')
  Error.prepareStackTrace = filesOf
  try {
    return capture(depth, callee).stack as string[]
  } finally {
    Reflect.set(Error, 'prepareStackTrace', prepare)
  }
}

const filesOf = (_error: unknown, frames: readonly NodeJS.CallSite[]): string[] =>
  frames.map((frame) => frame.getFileName()).filter((file) => typeof file === 'string')

let runner: RegExp | undefined

/**
 * Declares the files of the test runner that owns this process. It measures how long the agent's
 * modules take to load, on the agent's stack; these clock reads are not the agent's.
 */
export function ignoreRunner(files: RegExp): void {
  runner = files
}

export function calledByRunner(callee: Function): boolean {
  return runner !== undefined && callerFiles(callee, 1).some((file) => runner?.test(file))
}
