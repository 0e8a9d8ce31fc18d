import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { ForkRequest } from '../../api/home-changes.js'
import type { Explained } from '../../model/run-head.js'
import { explainError } from '../design/explain-error.js'
import { useHome } from '../sources/viewer-home.js'
import type { ForkDialogProps } from './fork-dialog.js'
import { forkDrafts } from './fork-drafts.js'
import { branchOf } from './start-branch.js'

const NO_BRANCH = 'The branch ended before anything of its own was recorded.'

/** Starts the fork and goes to its branch. When it is refused the draft stays as it is. */
export function useStartFork({ run, step, onClose }: ForkDialogProps) {
  const home = useHome()
  const navigate = useNavigate()
  const [error, setError] = useState<Explained>()
  const [isStarting, setIsStarting] = useState(false)
  const start = async (request: ForkRequest): Promise<void> => {
    if (home.live === undefined) return
    setError(undefined)
    setIsStarting(true)
    try {
      const job = await branchOf(home, await home.live.fork(run.id, request))
      if (!job.written) {
        setError(job.error ?? { code: 'UNEXPECTED', what: job.summary ?? NO_BRANCH })
        return
      }
      forkDrafts.drop(run.id, step.label)
      onClose()
      await navigate({ to: '/runs/$run', params: { run: job.run }, search: { step: step.label } })
    } catch (thrown) {
      setError(explainError(thrown))
    } finally {
      setIsStarting(false)
    }
  }
  return { start, isStarting, error, forget: () => setError(undefined) }
}
