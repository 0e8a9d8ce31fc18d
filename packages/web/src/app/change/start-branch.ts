import type { Job } from '../../api/job.js'
import type { ViewerHome } from '../sources/viewer-home.js'
import { isOver, jobs } from './jobs.js'

/**
 * Waits until the branch of a job can be opened, or the job is over. A job may end
 * without a branch: then what it says is all there is to show.
 */
export async function branchOf(home: ViewerHome, started: Job): Promise<Job> {
  jobs.hear(started)
  const stop = home.watch((change) => {
    if (change.type === 'job') jobs.hear(change.job)
  })
  try {
    return await jobs.when(started.id, (job) => job.written || isOver(job))
  } finally {
    stop()
  }
}
