import { currentCheck, currentSession, outsideRuns } from '../../kernel/scope.js'
import type { Session } from '../../kernel/session.js'
import { unrecordedFileSession } from './unrecorded-session.js'
import type { CheckedFunction } from '../../kernel/boundary-check.js'
import type { FileFunction } from './file-natives.js'
import { dressLike, replace, type Undo } from '../patching/patch.js'

/**
 * Wraps `native`: inside a run, `inside` answers calls of the agent. Node also calls the public
 * functions, to load modules and source maps. Those calls, and calls nested in them, are not the
 * agent's. Calls of a checked tool are checked as calls of `checked`, if it is set.
 */
export function wrapFileFunction(
  native: FileFunction,
  inside: (session: Session, args: unknown[]) => unknown,
  checked?: CheckedFunction,
): FileFunction {
  const wrapper: FileFunction = (...args) => {
    const check = currentCheck()
    const session = currentSession() ?? unrecordedFileSession()
    // A call that a tape answers touches nothing.
    if (check !== undefined && checked !== undefined && session?.local !== 'tape') {
      const call = session === undefined ? native : (...used: unknown[]) => inside(session, used)
      return check.file({
        ...checked,
        args,
        call,
        native,
        session,
        isNodesOwn: () => isNodesOwn(wrapper),
      })
    }
    if (session === undefined) return native(...args)
    return isNodesOwn(wrapper) ? outsideRuns(() => native(...args)) : inside(session, args)
  }
  return dressLike(wrapper, native)
}

/** Installs a wrapped function in its module; no-op if this Node does not have it. */
export function replaceFileFunction(
  module: object,
  name: string,
  inside: (session: Session, args: unknown[], native: FileFunction) => unknown,
  checked?: CheckedFunction,
): Undo {
  const native = (module as Record<string, FileFunction | undefined>)[name]
  if (native === undefined) return () => {}
  const answer = (session: Session, args: unknown[]): unknown => inside(session, args, native)
  const wrapper = wrapFileFunction(native, answer, checked)
  return replace(module, name, wrapper)
}

/**
 * Parts of Node that call `fs` on their own behalf. Others, such as streams and `promisify`, call
 * it on behalf of the agent.
 */
const NODES_OWN =
  /^node:internal\/(?:modules|source_map|bootstrap|main|process\/(?:warning|pre_execution|report))/
const LOADER = 'node:internal/modules/'

/** Packages that stand between `fs` and the program. */
interface FileCallers {
  /** They read modules, and never run agent code. */
  readonly readers?: readonly string[]
  /** They read modules and then run them. */
  readonly loaders?: readonly string[]
  /** Others call `fs` through them. */
  readonly forwarders?: readonly string[]
}

const declared = new Set<FileCallers>()
let loaderFile = /(?!)/
let forwarderFile = /(?!)/

/** Declares packages of a test runner, or ones that wrap `fs`. */
export function declareFileCallers(callers: FileCallers): Undo {
  declared.add(callers)
  update()
  return () => {
    declared.delete(callers)
    update()
  }
}

function update(): void {
  const names = (kind: keyof FileCallers): string =>
    [...declared].flatMap((callers) => callers[kind] ?? []).join('|') || '(?!)'
  const fileOf = (packages: string): RegExp =>
    new RegExp(String.raw`[\\/]node_modules[\\/](?:${packages})[\\/]`)
  loaderFile = fileOf(`${names('readers')}|(${names('loaders')})`)
  forwarderFile = fileOf(names('forwarders'))
}

/** Maximum distance between a loader and the compiler that it calls. */
const FRAMES = 30

let looking = false

/**
 * True if Node called `wrapper` on its own behalf. `between` matches parts of Node that only
 * forward calls.
 */
export function isNodesOwn(wrapper: Function, between = /^node:fs$/): boolean {
  // Capturing a stack may itself read a source map.
  if (looking) return true
  looking = true
  const { stackTraceLimit, prepareStackTrace } = Error
  const target: { stack?: unknown } = {}
  try {
    Error.stackTraceLimit = FRAMES
    Error.prepareStackTrace = (_, sites) => isLoading(sites, between)
    Error.captureStackTrace(target, wrapper)
    // The stack is a string, which was not requested here: something else, such as a test runner,
    // is printing a stack and reads a source map for it.
    return target.stack !== false
  } finally {
    Error.stackTraceLimit = stackTraceLimit
    Error.prepareStackTrace = prepareStackTrace
    looking = false
  }
}

/**
 * True if the caller is Node, a hook that Node called to load a module, or the loader of a test
 * runner. tsx, ts-node and Babel read the agent's code, not its data; serving it from the tape
 * would hide changes to that code.
 */
function isLoading(sites: readonly NodeJS.CallSite[], between: RegExp): boolean {
  let nearest = true
  for (const site of sites) {
    const file = site.getFileName() ?? ''
    // The loader has unpatched functions of `fs`, which call patched ones.
    if (between.test(file)) continue
    if (file.includes('node_modules')) {
      if (forwarderFile.test(file)) continue
      const loader = loaderFile.exec(file)
      if (loader !== null) return nearest || loader[1] === undefined
    }
    if (nearest && NODES_OWN.test(file)) return true
    if (file.startsWith(LOADER)) {
      // The loader calls hooks from these functions; from others, such as `_compile`, it runs the
      // agent's modules.
      if (file === `${LOADER}customization_hooks`) return true
      const name = `${site.getFunctionName()} ${site.getMethodName()}`
      return file === `${LOADER}cjs/loader` && !name.includes('_compile')
    }
    nearest = false
  }
  return false
}
