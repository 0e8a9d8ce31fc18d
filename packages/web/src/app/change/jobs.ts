import { useEffect, useSyncExternalStore } from 'react'
import type { Job } from '../../api/home.js'
import { useHome } from '../sources/viewer-home.js'

/** Forks and reruns that were started from here, as far as this page has heard of them. */
class Jobs {
  #all: readonly Job[] = []
  readonly #listeners = new Set<() => void>()

  /** News of a job. What is over does not begin again, should an older word arrive late. */
  hear(job: Job): void {
    const known = this.#all.find(({ id }) => id === job.id)
    if (known !== undefined && known.state !== 'running' && job.state === 'running') return
    this.#all = [...this.#all.filter(({ id }) => id !== job.id), job]
    for (const listener of this.#listeners) listener()
  }

  readonly all = (): readonly Job[] => this.#all

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Waits for a job to end. */
  ended(id: string): Promise<Job> {
    return new Promise((resolve) => {
      const look = (): boolean => {
        const job = this.#all.find((each) => each.id === id)
        if (job === undefined || job.state === 'running') return false
        resolve(job)
        return true
      }
      if (look()) return
      const stop = this.subscribe(() => {
        if (look()) stop()
      })
    })
  }
}

export const jobs = new Jobs()

/** All jobs, kept up to date while the component is on the screen. */
export function useJobs(): readonly Job[] {
  const home = useHome()
  useEffect(
    () =>
      home.watch((change) => {
        if (change.type === 'job') jobs.hear(change.job)
      }),
    [home],
  )
  return useSyncExternalStore(jobs.subscribe, jobs.all)
}
