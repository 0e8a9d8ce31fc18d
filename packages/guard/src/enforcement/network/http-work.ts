import { AsyncLocalStorage } from 'node:async_hooks'

/** Set while an HTTP client works inside a guarded call: the connections it opens will speak HTTP. */
const storage = new AsyncLocalStorage<true>()
let isAnnounced = false

export function asHttpWork<T>(work: () => T): T {
  return storage.run(true, work)
}

/** The npm package undici says beforehand that it is about to connect. */
export function announceConnect(): void {
  isAnnounced = true
}

/** True if an HTTP client is about to open the connection. Its writes are checked all the same. */
export function isHttpWork(): boolean {
  const wasAnnounced = isAnnounced
  isAnnounced = false
  return wasAnnounced || storage.getStore() === true
}
