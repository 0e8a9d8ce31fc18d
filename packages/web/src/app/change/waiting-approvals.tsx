import type { RowState, StepRow } from '@retake/tape/present'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { RunCard, WaitingApproval } from '@retake/tape'
import { Badge, RunStatusBadge, StateBadge } from '../design/badge.js'
import { Button, RunLink } from '../design/button.js'
import { TextField } from '../design/fields.js'
import { showError } from '../design/toast.js'
import type { Run } from '../run/data/use-run.js'
import { type LiveActions, useBackend } from '../sources/backend.js'
import { LongText } from '../values/text.js'

const LOOK_MS = 1000

/** Waiting calls of all runs. The next to expire comes first. */
export function useApprovals(): readonly WaitingApproval[] {
  const { live, tabs } = useBackend()
  const { data = NONE } = useQuery({
    queryKey: ['approvals'],
    queryFn: async () => (await live?.approvals()) ?? NONE,
    enabled: live !== undefined && tabs.includes('approvals'),
    refetchInterval: ({ state }) => (state.status === 'error' ? 10 : 1) * LOOK_MS,
    // The title of a background tab shows that a decision is needed.
    refetchIntervalInBackground: true,
  })
  return data
}

const NONE: readonly WaitingApproval[] = []

/** A countdown such as `4:12`. */
export function TimeLeft({ until }: { until: number }) {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), LOOK_MS)
    return () => clearInterval(timer)
  }, [])
  const seconds = Math.max(0, Math.ceil((until - now) / 1000))
  const text = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
  return <span className="tabular-nums">{text}</span>
}

export function ListedRunStatus({ run }: { run: Pick<RunCard, 'id' | 'status' | 'failedCheck'> }) {
  const waiting = useApprovals().find((approval) => approval.run === run.id)
  if (waiting === undefined)
    return <RunStatusBadge status={run.status} failedCheck={run.failedCheck === true} />
  return (
    <Badge tone="warning">
      waits for approval <TimeLeft until={waiting.expiresAt} />
    </Badge>
  )
}

export function useWaiting(run: string): (step: Pick<StepRow, 'state' | 'tool'>) => boolean {
  const waiting = new Set<string | undefined>(
    useApprovals().flatMap((approval) => (approval.run === run ? [approval.tool] : [])),
  )
  return ({ state, tool }) => state === 'running' && waiting.has(tool)
}

export const StepStateBadge = ({ state, isWaiting }: { state: RowState; isWaiting: boolean }) =>
  isWaiting ? <Badge tone="warning">waits for approval</Badge> : <StateBadge state={state} />

/**
 * Shown on every page: the next call to expire and the number of waiting calls, without those of the
 * open run.
 */
export function ApprovalsLink({ open }: { open: string | undefined }) {
  const waiting = useApprovals().filter(({ run }) => run !== open)
  const [next] = waiting
  if (next === undefined) return null
  return (
    <RunLink
      run={next.run}
      className="inline-flex h-7 shrink-0 items-center gap-1.5 rounded bg-warning-soft px-2 text-sm whitespace-nowrap text-warning hover:underline"
    >
      <span className="sm:hidden">{waiting.length} to approve</span>
      <span className="max-sm:hidden">
        {waiting.length === 1 ? '1 call waits' : `${waiting.length} calls wait`} for approval
      </span>
      <TimeLeft until={next.expiresAt} />
    </RunLink>
  )
}

export function WaitingApprovals({ run }: { run: Run }) {
  const { live } = useBackend()
  const waiting = useApprovals().filter((approval) => approval.run === run.id)
  if (live === undefined || waiting.length === 0) return null
  return (
    <section
      aria-label="Waiting for approval"
      className="max-h-[40%] shrink-0 max-md:max-h-[50%] overflow-auto border-b border-line-strong bg-surface"
    >
      {waiting.length > 1 && (
        <p className="border-b border-line px-3 py-1 text-sm text-muted">
          {waiting.length} calls wait for approval
        </p>
      )}
      <ul>
        {waiting.map((approval) => (
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
        showError(error)
      })
      .finally(() => void queries.invalidateQueries({ queryKey: ['approvals'] }))
  }
  return (
    <li className="grid gap-x-4 gap-y-2 border-b border-l-2 border-line border-l-warning p-3 last:border-b-0 md:grid-cols-[minmax(0,1fr)_auto]">
      <div className="flex min-w-0 flex-col gap-1">
        <p>
          <span className="font-medium">
            <code>{tool}</code> waits for approval
          </span>
          <span className="ml-2 text-sm text-muted">
            {guard} · rule {rule} · <TimeLeft until={expiresAt} /> left
          </span>
        </p>
        {why !== '' && <p className="text-sm">{why}</p>}
        <section
          // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrollable element must be reachable by keyboard
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
