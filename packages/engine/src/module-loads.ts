/**
 * Node 20 loads modules in its thread pool or in a hooks thread, so the moment
 * an `import()` settles is not in our hands. The gate therefore waits while one
 * is under way, in record and replay alike: to the agent an import then takes no
 * time. Node 22 and later load synchronously and need no such wait.
 */
const NEEDED = Number(process.versions.node.split('.')[0]) < 22

let portsAreInUse = false

/** The agent uses message ports itself: they no longer tell anything about module loading. */
export function messagePortsInUse(): void {
  portsAreInUse = true
}

export function moduleLoadInFlight(): boolean {
  if (!NEEDED) return false
  // The file boundary works with callbacks: requests with promises are the module loader's.
  return process
    .getActiveResourcesInfo()
    .some((kind) => kind === 'FSReqPromise' || (kind === 'MessagePort' && !portsAreInUse))
}
