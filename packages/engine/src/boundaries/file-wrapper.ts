import { currentSession, outsideRuns } from '../scope.js'
import type { Session } from '../sessions/session.js'
import type { FileFunction } from './file-natives.js'
import { dressLike } from './patch.js'

/**
 * A function that looks like `native`; when the agent calls it in a run, `inside`
 * answers. Node itself calls the public functions too, to load modules and source
 * maps: those calls are nobody's reading, and neither is what they call in turn.
 */
export function wrapFileFunction(
  native: FileFunction,
  inside: (session: Session, args: unknown[]) => unknown,
): FileFunction {
  const wrapper: FileFunction = (...args) => {
    const session = currentSession()
    if (session === undefined) return native(...args)
    return isNodesOwn(wrapper) ? outsideRuns(() => native(...args)) : inside(session, args)
  }
  return dressLike(wrapper, native)
}

/** Parts of Node that call `fs` for themselves. Others, like streams and `promisify`, do it for the agent. */
const NODES_OWN =
  /^node:internal\/(?:modules|source_map|bootstrap|main|process\/(?:warning|pre_execution|report))/

let looking = false

function isNodesOwn(wrapper: Function): boolean {
  // Looking at the stack may itself read a source map.
  if (looking) return true
  looking = true
  const { stackTraceLimit, prepareStackTrace } = Error
  const holder: { stack?: unknown } = {}
  try {
    Error.stackTraceLimit = 6
    Error.prepareStackTrace = callingFile
    Error.captureStackTrace(holder, wrapper)
    return NODES_OWN.test(String(holder.stack))
  } finally {
    Error.stackTraceLimit = stackTraceLimit
    Error.prepareStackTrace = prepareStackTrace
    looking = false
  }
}

/** The file that called, beyond `fs` itself: the loader holds unpatched functions, which call patched ones. */
function callingFile(_: Error, sites: NodeJS.CallSite[]): string {
  for (const site of sites) {
    const file = site.getFileName() ?? ''
    if (file !== 'node:fs') return file
  }
  return ''
}
