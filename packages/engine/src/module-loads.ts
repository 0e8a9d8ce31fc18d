/**
 * Node 20 loads modules in its thread pool or in a hooks thread, so the moment
 * an `import()` settles is not in our hands. The gate therefore waits while one
 * is under way, in record and replay alike: to the agent an import then takes no
 * time. Node 22 and later load synchronously and need no such wait.
 */
const NEEDED = Number(process.versions.node.split('.')[0]) < 22

let ownFileRequests = 0
let portsAreInUse = false

/** Retake's own asynchronous file requests look the same: they are counted and left out. */
export function fileRequestStarted(): void {
  ownFileRequests += 1
}
export function fileRequestFinished(): void {
  ownFileRequests -= 1
}

/** The agent uses message ports itself: they no longer tell anything about module loading. */
export function messagePortsInUse(): void {
  portsAreInUse = true
}

export function moduleLoadInFlight(): boolean {
  if (!NEEDED) return false
  let fileRequests = 0
  for (const resource of process.getActiveResourcesInfo()) {
    if (resource === 'FSReqPromise') fileRequests += 1
    else if (resource === 'MessagePort' && !portsAreInUse) return true
  }
  return fileRequests > ownFileRequests
}
