import { useState } from 'react'
import type { Job } from '../../api/job.js'
import { Badge } from '../design/badge.js'
import { Button } from '../design/button.js'
import { Dialog } from '../design/dialog.js'
import { ErrorNote } from '../design/error-note.js'
import { explainError } from '../design/explain-error.js'
import { latePart } from '../design/late-part.js'
import { showToast } from '../design/toast.js'
import { isOver, useJobs } from './jobs.js'
import type { LiveRunActionsProps } from './live-run-actions.js'

/** Comparing texts is worth a quarter of a megabyte; few jobs need it. */
const DivergenceNote = latePart(async () => (await import('./divergence-note.js')).DivergenceNote)

/** How the job stands that writes this branch; nothing for other runs. */
export function JobNote({ run, live }: LiveRunActionsProps) {
  const job = useJobs().findLast((each) => each.run === run.id)
  const [isOpen, setIsOpen] = useState(false)
  if (job === undefined) return null
  const stop = (): void =>
    void live
      .stop(job.id)
      .catch((error: unknown) => showToast(explainError(error).what, { tone: 'danger' }))
  if (!isOver(job))
    return (
      <span className="flex items-center gap-1.5">
        <output>
          <Badge tone="accent">{job.state === 'waiting' ? 'waiting' : 'running'}</Badge>
        </output>
        <Button look="danger" onClick={stop} title="Stop the program; what it recorded stays">
          Stop
        </Button>
      </span>
    )
  return (
    <>
      <output className="hidden sm:block">
        <Badge tone={TONES[job.state]} title={job.summary}>
          {job.kind} {job.state}
        </Badge>
      </output>
      {(job.error !== undefined || job.divergence !== undefined) && (
        <Button onClick={() => setIsOpen(true)}>
          {job.error === undefined ? 'Where it went live' : 'Why'}
        </Button>
      )}
      <Dialog
        title={job.error === undefined ? 'Where it left the tape' : `The ${job.kind} failed`}
        isOpen={isOpen}
        onClose={() => setIsOpen(false)}
        size="large"
      >
        <div className="flex flex-col gap-3">
          {job.error !== undefined && <ErrorNote error={job.error} />}
          {job.divergence !== undefined && <DivergenceNote divergence={job.divergence} />}
        </div>
      </Dialog>
    </>
  )
}

const TONES: Readonly<Record<Job['state'], 'accent' | 'good' | 'danger' | 'warning'>> = {
  waiting: 'accent',
  running: 'accent',
  done: 'good',
  failed: 'danger',
  stopped: 'warning',
}
