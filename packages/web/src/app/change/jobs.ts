import { useEffect } from 'react'
import type { Job } from '../../api/run-repository.js'
import { isReconnected, useBackend, type ViewerBackend } from '../sources/backend.js'
import { Store, useStore } from '../design/store.js'

export const isOver = ({ state }: Job): boolean => state !== 'waiting' && state !== 'running'

const progressOf = (job: Job): number => (isOver(job) ? 2 : 0) + (job.written ? 1 : 0)

/** Forks and reruns of this page. */
class Jobs extends Store<readonly Job[]> {
  /** Ignores older states, because the response to a start may arrive after later updates. */
  update(job: Job): void {
    const known = this.get().find(({ id }) => id === job.id)
    if (known !== undefined && progressOf(known) > progressOf(job)) return
    this.set([...this.get().filter(({ id }) => id !== job.id), job])
  }

  when(id: string, isTrue: (job: Job) => boolean): Promise<Job> {
    return new Promise((resolve) => {
      const look = (): void => {
        const job = this.get().find((each) => each.id === id)
        if (job === undefined || !isTrue(job)) return
        stop()
        resolve(job)
      }
      const stop = this.subscribe(look)
      look()
    })
  }
}

export const jobs = new Jobs([])

export function useJobs(): readonly Job[] {
  const backend = useBackend()
  useEffect(() => {
    const read = (): void =>
      void backend.live?.jobs().then(
        (all) => all.forEach((job) => jobs.update(job)),
        () => {},
      )
    read()
    return backend.watch((change) => {
      if (change.type === 'job') jobs.update(change.job)
      // Changes may have been missed.
      else if (isReconnected(change)) read()
    })
  }, [backend])
  return useStore(jobs)
}

/** Waits until the branch of a job can be opened or the job is over, which may leave no branch. */
export async function branchOf(backend: ViewerBackend, started: Job): Promise<Job> {
  jobs.update(started)
  const stop = backend.watch((change) => {
    if (change.type === 'job') jobs.update(change.job)
  })
  try {
    return await jobs.when(started.id, (job) => job.written || isOver(job))
  } finally {
    stop()
  }
}
