import { currentSession } from '../scope.js'
import type { Session } from '../sessions/session.js'

/** Parts of Node that work for the agent when they call `fs`: its streams. */
const FOR_THE_AGENT = /^node:internal\/(?:fs\/streams|streams\/)/

/**
 * The run a file call belongs to. Node itself calls the public functions too,
 * to load modules and source maps: those calls are nobody's reading.
 */
export function agentSession(wrapper: Function): Session | undefined {
  const session = currentSession()
  return session === undefined || isNodesOwn(wrapper) ? undefined : session
}

let looking = false

function isNodesOwn(wrapper: Function): boolean {
  // Looking at the stack may itself read a source map.
  if (looking) return true
  looking = true
  const { stackTraceLimit, prepareStackTrace } = Error
  const holder: { stack?: unknown } = {}
  try {
    Error.stackTraceLimit = 1
    Error.prepareStackTrace = nearestFile
    Error.captureStackTrace(holder, wrapper)
    const file = String(holder.stack)
    return file.startsWith('node:internal/') && !FOR_THE_AGENT.test(file)
  } finally {
    Error.stackTraceLimit = stackTraceLimit
    Error.prepareStackTrace = prepareStackTrace
    looking = false
  }
}

const nearestFile = (_: Error, sites: NodeJS.CallSite[]): string => sites[0]?.getFileName() ?? ''
