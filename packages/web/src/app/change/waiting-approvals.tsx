import type { RunStatus } from '@retake/tape/present'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { WaitingApproval } from '../../api/run-repository.js'
import { Badge, RunStatusBadge } from '../design/badge.js'
import { Button } from '../design/button.js'
import { TextField } from '../design/fields.js'
import { showToast } from '../design/toast.js'
import type { Run } from '../run/use-run.js'
import { explainError } from '../sources/backend-error.js'
import { type LiveActions, useBackend } from '../sources/backend.js'
import { LongText } from '../step/text.js'

const LOOK_MS = 1000

export function WaitingApprovals({ run }: { run: Run }) {
  const { live } = useBackend()
  if (live === undefined || run.head.status !== 'recording') return null
  return <Waiting run={run} live={live} />
}

function useApprovals(run: string, live: LiveActions): readonly WaitingApproval[] {
  const { data = [] } = useQuery({
    queryKey: ['approvals', run],
    queryFn: () => live.approvals(run),
    refetchInterval: LOOK_MS,
  })
  return data
}

/** Status of a run in a list: a run that waits for somebody says so. */
export function ListedRunStatus({ run, status }: { run: string; status: RunStatus }) {
  const { live } = useBackend()
  if (live === undefined || status !== 'recording') return <RunStatusBadge status={status} />
  return <RecordingStatus run={run} live={live} />
}

function RecordingStatus({ run, live }: { run: string; live: LiveActions }) {
  return useApprovals(run, live).length > 0 ? (
    <Badge tone="warning">waits for approval</Badge>
  ) : (
    <RunStatusBadge status="recording" />
  )
}

function Waiting({ run, live }: { run: Run; live: LiveActions }) {
  const data = useApprovals(run.id, live)
  if (data.length === 0) return null
  return (
    <section
      aria-label="Waiting for approval"
      className="max-h-[40%] shrink-0 max-md:max-h-[50%] overflow-auto border-b border-line-strong bg-surface"
    >
      {data.length > 1 && (
        <p className="border-b border-line px-3 py-1 text-sm text-muted">
          {data.length} calls wait for approval
        </p>
      )}
      <ul>
        {data.map((approval) => (
          <ApprovalNote key={approval.id} approval={approval} run={run.id} live={live} />
        ))}
      </ul>
    </section>
  )
}

interface ApprovalNoteProps {
  readonly approval: WaitingApproval
  readonly run: string
  readonly live: LiveActions
}

function ApprovalNote({ approval, run, live }: ApprovalNoteProps) {
  const [reason, setReason] = useState('')
  const [isSent, setIsSent] = useState(false)
  const queries = useQueryClient()
  const { id, tool, args, rule, why, guard, expiresAt } = approval
  const decide = (approved: boolean): void => {
    setIsSent(true)
    live
      .decide(run, { id, approved, ...(reason.trim() !== '' && { reason }) })
      .catch((error: unknown) => {
        setIsSent(false)
        showToast(explainError(error).what, { tone: 'danger' })
      })
      .finally(() => void queries.invalidateQueries({ queryKey: ['approvals', run] }))
  }
  return (
    <li className="grid gap-x-4 gap-y-2 border-b border-l-2 border-line border-l-accent p-3 last:border-b-0 md:grid-cols-[minmax(0,1fr)_auto]">
      <div className="flex min-w-0 flex-col gap-1">
        <p>
          <span className="font-medium">
            <code>{tool}</code> waits for approval
          </span>
          <span className="ml-2 text-sm text-muted">
            {guard} · rule {rule} · until {new Date(expiresAt).toLocaleTimeString()}
          </span>
        </p>
        {why !== '' && <p className="text-sm">{why}</p>}
        <section
          // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls: keys need a way in
          tabIndex={0}
          aria-label={`Arguments of ${tool}`}
          className="max-h-32 overflow-auto rounded border border-line p-2 font-mono text-sm whitespace-pre-wrap [overflow-wrap:anywhere]"
        >
          <LongText text={args} />
        </section>
      </div>
      <div className="flex flex-wrap content-end items-end gap-2">
        <TextField
          className="max-md:w-full"
          label="Reason (stored with the run)"
          value={reason}
          onChange={setReason}
        />
        <Button look="primary" disabled={isSent} onClick={() => decide(true)}>
          Approve
        </Button>
        <Button look="danger" disabled={isSent} onClick={() => decide(false)}>
          Refuse
        </Button>
      </div>
    </li>
  )
}
