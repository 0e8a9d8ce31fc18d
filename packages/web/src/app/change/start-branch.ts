import type { Job } from '../../api/home.js'
import type { ViewerHome } from '../sources/viewer-home.js'
import { jobs } from './jobs.js'

const LOOK_EVERY_MS = 150

/**
 * Waits until the branch of a job can be opened. A job may end before there is one:
 * then what it says is all there is to show.
 */
export async function branchOf(
  home: ViewerHome,
  started: Job,
): Promise<{ readonly run: string } | { readonly ended: Job }> {
  jobs.hear(started)
  const stop = home.watch((change) => {
    if (change.type === 'job') jobs.hear(change.job)
  })
  try {
    for (;;) {
      const job = jobs.all().find(({ id }) => id === started.id) ?? started
      if (await isThere(home, job.run)) return { run: job.run }
      if (job.state !== 'running') return { ended: job }
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
    }
  } finally {
    stop()
  }
}

const isThere = (home: ViewerHome, run: string): Promise<boolean> =>
  home
    .run(run)
    .head()
    .then(
      () => true,
      () => false,
    )
