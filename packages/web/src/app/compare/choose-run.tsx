import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { localTime } from '@retake/tape/present'
import type { RunCard } from '../../model/run-head.js'
import { Dialog } from '../design/dialog.js'
import { EmptyNote } from '../design/notes.js'
import { ErrorNote } from '../design/notes.js'
import { RunStatusBadge } from '../design/badge.js'
import { TextField } from '../design/fields.js'
import { useBackend } from '../sources/viewer-home.js'

export interface ChooseRunProps {
  readonly title: string
  /** Runs that are not offered. */
  readonly not: readonly string[]
  readonly onChoose: (run: string) => void
  readonly onClose: () => void
}

/** More are found by writing a part of their name. */
const SHOWN = 100

/** One run out of all of them. Those that cannot be read are not offered. */
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
      {runs.isSuccess && fitting.length === 0 && <EmptyNote title="No other run fits." />}
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
          {fitting.length - SHOWN} more; write a part of the name.
        </p>
      )}
    </Dialog>
  )
}
