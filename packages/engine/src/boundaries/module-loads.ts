import module from 'node:module'
import { isMainThread, MessagePort } from 'node:worker_threads'
import { natives } from '../kernel/natives.js'
import { replace, type Undo } from './patching/patch.js'
import { belongsToRun, outsideRuns } from '../kernel/scope.js'

/**
 * Node 20 loads modules in its thread pool or in a hooks thread, so Retake cannot control when an
 * `import()` settles. The gate therefore waits while one is in progress, in record and replay: for
 * the agent, an import takes no time. Node 22 and later load synchronously. Only module loads
 * count: ports and file requests of the program may stay open as long as it lives, and the gate
 * must not wait for them.
 */
const NEEDED = Number(process.versions.node.split('.')[0]) < 22

/** Node's resource names of promise-based file requests and of closing their handles. */
const REQUESTS = new Set(['FSReqPromise', 'CloseReq'])
const REQUEST_CLASSES = new Set(['FSReqPromise', 'FileHandleCloseReq'])

/** Active only while the hooks thread loads a module. */
let hooksPort: object | undefined

export function moduleLoadInFlight(): boolean {
  if (!NEEDED) return false
  const kinds = process.getActiveResourcesInfo()
  return (
    (kinds.some((kind) => REQUESTS.has(kind)) && loadsFromDisk()) ||
    (hooksPort !== undefined && kinds.includes('MessagePort') && activePorts().has(hooksPort))
  )
}

let isEntryLoading = false

/** True while the module of a recorded function is being loaded, outside its run. */
export const entryIsLoading = (): boolean => isEntryLoading

/** Loads the module of a recorded function. Fails if that takes longer than `limitMs`. */
export async function loadEntry<T>(load: () => Promise<T>, limitMs = 60_000): Promise<T> {
  isEntryLoading = true
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_, reject) => {
    const late = `It was still loading after ${limitMs / 1000} s; its top-level code may wait for something that a replay does not reach.`
    timer = natives.setTimeout(() => reject(new Error(late)), limitMs)
  })
  try {
    return await Promise.race([load(), limit])
  } finally {
    natives.clearTimeout(timer)
    isEntryLoading = false
  }
}

/** Finds the port of the hooks thread, now and whenever hooks are registered. */
export function watchModuleLoads(): Undo {
  if (!NEEDED || !isMainThread) return () => {}
  void findHooksPort()
  const { register } = module
  return replace(module, 'register', (...args: Parameters<typeof register>) => {
    register(...args)
    void findHooksPort()
  })
}

/** The file boundary uses callbacks, so promise-based requests of a run belong to the loader. */
const loadsFromDisk = (): boolean =>
  internals
    ._getActiveRequests()
    .some((request) => REQUEST_CLASSES.has(request.constructor.name) && belongsToRun(request))

const internals = process as unknown as {
  _getActiveHandles: () => object[]
  _getActiveRequests: () => object[]
}

const activePorts = (): Set<object> =>
  new Set(internals._getActiveHandles().filter((handle) => handle instanceof MessagePort))

/** Number of modules to load to find the port, if several ports are candidates. */
const ATTEMPTS = 10

/** Finds the port that becomes active when a module is loaded. Without a hooks thread, none does. */
async function findHooksPort(): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS && hooksPort === undefined; attempt += 1) {
    const before = activePorts()
    const loading: Promise<unknown> = outsideRuns(
      () => import(`data:text/javascript,export const attempt = ${attempt}`),
    )
    hooksPort = [...activePorts()].find((port) => !before.has(port))
    await loading.catch(() => {})
    if (before.size === 0) return
  }
}
