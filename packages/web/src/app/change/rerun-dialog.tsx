import { useNavigate } from '@tanstack/react-router'
import { useId, useState } from 'react'
import type { Job } from '../../api/job.js'
import { Button } from '../design/button.js'
import { Dialog } from '../design/dialog.js'
import { ErrorNote } from '../design/error-note.js'
import { TextField } from '../design/text-field.js'
import { useHome } from '../sources/viewer-home.js'
import type { LiveRunActionsProps } from './live-run-actions.js'
import { branchOf } from './start-branch.js'

/** Runs the program again as it is now, and says what came of it. */
export function RerunDialog({
  run,
  live,
  onClose,
}: LiveRunActionsProps & { readonly onClose: () => void }) {
  const home = useHome()
  const navigate = useNavigate()
  const formId = useId()
  const [name, setName] = useState('')
  const [state, setState] = useState<{ isRunning?: boolean; job?: Job; error?: unknown }>({})
  const start = async (): Promise<void> => {
    setState({ isRunning: true })
    try {
      const job = await branchOf(home, await live.rerun(run.id, name === '' ? {} : { name }))
      setState({ job })
      if (!job.written) return
      onClose()
      const step = job.divergence?.step
      await navigate({
        to: '/runs/$run',
        params: { run: job.run },
        search: step === undefined ? {} : { step },
      })
    } catch (error) {
      setState({ error })
    }
  }
  const { isRunning = false, job } = state
  const error = state.error ?? job?.error
  return (
    <Dialog
      title="Run again"
      isOpen
      onClose={onClose}
      footer={
        job?.identical ? (
          <Button look="primary" onClick={onClose}>
            Close
          </Button>
        ) : (
          <Button type="submit" form={formId} look="primary" disabled={isRunning}>
            {isRunning ? 'Running…' : 'Run again'}
          </Button>
        )
      }
    >
      <form
        id={formId}
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          void start()
        }}
      >
        <p>
          Runs the program as it is on disk now. What still matches the tape is served and costs
          nothing. Where the code asks for something else it goes live, with your real keys, and
          what follows is recorded as a branch. The recorded run stays as it is.
        </p>
        {job === undefined && (
          <TextField
            label="Name of the branch"
            value={name}
            placeholder="like its parent"
            onChange={setName}
          />
        )}
        <output>
          {isRunning && 'Serving from the tape until something differs…'}
          {job?.identical &&
            `Identical from beginning to end: everything was served, nothing was paid, there is no branch.`}
          {job !== undefined && !job.identical && error === undefined && !job.written
            ? (job.summary ?? `It ended: ${job.state}.`)
            : ''}
        </output>
        {error !== undefined && <ErrorNote error={error} />}
      </form>
    </Dialog>
  )
}
