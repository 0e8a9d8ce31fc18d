import { useSyncExternalStore } from 'react'
import type { Explained } from '../../model/run-head.js'
import { useHome, type ViewerHome } from '../sources/viewer-home.js'

/** Whether what is behind the page can be reached. */
export interface HomeStatus {
  readonly isConnected: boolean
  /** Why the connection does not come back by itself, and what to do. */
  readonly lost?: Explained | undefined
}

/** Listens to a home from the first question on. */
class StatusStore {
  #status: HomeStatus = { isConnected: true }
  readonly #listeners = new Set<() => void>()

  constructor(home: ViewerHome) {
    home.watch((change) => {
      if (change.type === 'connection')
        this.#set({ isConnected: change.state === 'open', lost: change.error })
    })
  }

  readonly get = (): HomeStatus => this.#status

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #set(change: Partial<HomeStatus>): void {
    this.#status = { ...this.#status, ...change }
    for (const listener of this.#listeners) listener()
  }
}

const stores = new WeakMap<ViewerHome, StatusStore>()

export function useHomeStatus(): HomeStatus {
  const home = useHome()
  let store = stores.get(home)
  if (store === undefined) stores.set(home, (store = new StatusStore(home)))
  return useSyncExternalStore(store.subscribe, store.get)
}
