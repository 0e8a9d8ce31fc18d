import { isMainThread } from 'node:worker_threads'

/**
 * Node 20 loads modules in its thread pool or in a hooks thread, so the moment
 * an `import()` settles is not in our hands. The gate therefore waits while one
 * is under way, in record and replay alike: to the agent an import then takes no
 * time. Node 22 and later load synchronously and need no such wait.
 */
const NEEDED = Number(process.versions.node.split('.')[0]) < 22

/**
 * File requests with promises, and the closing of their handles. The file boundary
 * works with callbacks, so these are the module loader's.
 */
const LOADS = new Set(['FSReqPromise', 'CloseReq'])

/** A worker thread, of a test runner for example, talks to its parent through one. */
let portsAreInUse = !isMainThread

/** The agent uses message ports itself: they no longer tell anything about module loading. */
export function messagePortsInUse(): void {
  portsAreInUse = true
}

export function moduleLoadInFlight(): boolean {
  if (!NEEDED) return false
  return process
    .getActiveResourcesInfo()
    .some((kind) => LOADS.has(kind) || (kind === 'MessagePort' && !portsAreInUse))
}
