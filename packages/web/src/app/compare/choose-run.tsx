import { localTime } from '@retake/tape/present'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { RunCard } from '@retake/tape'
import { RunStatusBadge } from '../design/badge.js'
import { Dialog } from '../design/dialog.js'
import { TextField } from '../design/fields.js'
import { EmptyNote, ErrorNote } from '../design/notes.js'
import { useBackend } from '../sources/backend.js'

interface ChooseRunProps {
  readonly title: string
  readonly not: readonly string[]
  readonly onChoose: (run: string) => void
  readonly onClose: () => void
}

const SHOWN = 100

export function ChooseRun({ title, not, onChoose, onClose }: ChooseRunProps) {
  const backend = useBackend()
  const [text, setText] = useState('')
  const runs = useQuery({ queryKey: ['runs'], queryFn: () => backend.runs() })
  const fitting = (runs.data ?? []).filter(
    (run): run is RunCard =>
      !('error' in run) &&
      !not.includes(run.id) &&
      `${run.name} ${run.id}`.toLowerCase().includes(text.toLowerCase()),
  )
  return (
    <Dialog title={title} isOpen onClose={onClose}>
      <TextField label="Name or id" value={text} onChange={setText} />
      {runs.error !== null && <ErrorNote error={runs.error} />}
      {runs.isSuccess && fitting.length === 0 && <EmptyNote title="No other run matches." />}
      <ul className="mt-2">
        {fitting.slice(0, SHOWN).map((run) => (
          <li key={run.id}>
            <button
              type="button"
              className="flex w-full items-center gap-2 rounded px-2 py-1 text-left hover:bg-accent-soft"
              onClick={() => {
                onClose()
                onChoose(run.id)
              }}
            >
              <RunStatusBadge status={run.status} />
              <span className="min-w-0 flex-1 truncate">
                {run.name} <span className="font-mono text-sm text-muted">{run.id}</span>
              </span>
              {run.branch !== undefined && (
                <span className="text-sm text-muted">{run.branch.kind}</span>
              )}
              <time className="text-sm text-muted" dateTime={new Date(run.startedAt).toISOString()}>
                {localTime(run.startedAt)}
              </time>
            </button>
          </li>
        ))}
      </ul>
      {fitting.length > SHOWN && (
        <p className="text-sm text-muted">
          {fitting.length - SHOWN} more; type a part of the name.
        </p>
      )}
    </Dialog>
  )
}
