import { useSyncExternalStore } from 'react'
import type { Job } from '../../api/home.js'
import type { Explained } from '../../model/run-head.js'
import { useHome, type ViewerHome } from '../sources/viewer-home.js'

/** What goes on behind the page. */
export interface HomeStatus {
  readonly isConnected: boolean
  /** Why the connection does not come back by itself, and what to do. */
  readonly lost?: Explained | undefined
  /** Forks and reruns that were heard of, oldest first. */
  readonly jobs: readonly Job[]
}

/** Listens to a home from the first question on. */
class StatusStore {
  #status: HomeStatus = { isConnected: true, jobs: [] }
  readonly #listeners = new Set<() => void>()

  constructor(home: ViewerHome) {
    home.watch((change) => {
      if (change.type === 'connection')
        this.#set({ isConnected: change.state === 'open', lost: change.error })
      if (change.type === 'job') this.#set({ jobs: withJob(this.#status.jobs, change.job) })
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

const withJob = (jobs: readonly Job[], job: Job): readonly Job[] =>
  jobs.some(({ id }) => id === job.id)
    ? jobs.map((each) => (each.id === job.id ? job : each))
    : [...jobs, job]

const stores = new WeakMap<ViewerHome, StatusStore>()

/** Whether the home can be reached, and its jobs. */
export function useHomeStatus(): HomeStatus {
  const home = useHome()
  let store = stores.get(home)
  if (store === undefined) stores.set(home, (store = new StatusStore(home)))
  return useSyncExternalStore(store.subscribe, store.get)
}
