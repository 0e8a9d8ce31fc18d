import { fileURLToPath } from 'node:url'

/** This package, as stacks name it: by URL, or by path when source maps are on. */
const HOME = new URL('..', import.meta.url)
export const HOMES = [HOME.href, fileURLToPath(HOME)]
const FRAME = /\(?((?:file:\/\/|node:|\/|[A-Za-z]:\\)[^()]*?):(\d+):(\d+)\)?$/

/**
 * Where in the agent's code we are, as `path:line:column`; the nearest frame
 * outside Retake, Node and node_modules, following awaits. Undefined when the
 * whole stack is library code.
 */
export function callSite(): string | undefined {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 40
  const holder: { stack?: string } = {}
  Error.captureStackTrace(holder, callSite)
  const stack = holder.stack ?? ''
  Error.stackTraceLimit = limit
  for (const line of stack.split('\n').slice(1)) {
    const match = FRAME.exec(line)
    const file = match?.[1]
    if (file === undefined || file.startsWith('node:')) continue
    if (HOMES.some((home) => file.startsWith(home))) continue
    if (file.includes('/node_modules/') || file.includes('\\node_modules\\')) continue
    const path = file.startsWith('file://') ? fileURLToPath(file.split('?')[0] ?? file) : file
    return `${path}:${match?.[2]}:${match?.[3]}`
  }
  return undefined
}

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
