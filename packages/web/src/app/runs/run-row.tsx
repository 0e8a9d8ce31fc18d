import { Link } from '@tanstack/react-router'
import { cost, count, duration, localDateTime, relativeTime } from '@retake/tape/present'
import type { RunCard } from '../../model/run-head.js'
import { RunStatusBadge } from '../design/status-badges.js'

export interface RunRowProps {
  readonly run: RunCard
  readonly now: number
  readonly isChosen: boolean
  readonly onChoose: (isChosen: boolean) => void
}

/** Columns of the list; on a phone a run has two lines. */
export const COLUMNS =
  'grid grid-cols-[1.5rem_minmax(0,1fr)_auto] items-center gap-x-3 px-3 md:grid-cols-[1.5rem_minmax(0,1fr)_5.5rem_5rem_5rem_6rem_6rem]'

/** One run in the list. */
export function RunRow({ run, now, isChosen, onChoose }: RunRowProps) {
  const exact = new Date(run.startedAt)
  return (
    <div className={`${COLUMNS} min-h-8 py-1 hover:bg-raised has-[a:focus-visible]:bg-accent-soft`}>
      <input
        type="checkbox"
        aria-label={`Choose ${run.name} to compare`}
        checked={isChosen}
        onChange={(event) => onChoose(event.target.checked)}
        className="size-4 accent-accent max-md:row-span-2 max-md:self-start max-md:mt-0.5"
      />
      <span className="flex min-w-0 items-center gap-2">
        <Link
          to="/runs/$run"
          params={{ run: run.id }}
          search={{}}
          data-run={run.id}
          className="truncate rounded-sm font-medium hover:text-accent"
        >
          {run.name}
        </Link>
        {run.name !== run.id && (
          <span className="truncate font-mono text-sm text-muted max-sm:hidden">{run.id}</span>
        )}
        {run.branch && <BranchNote branch={run.branch} />}
      </span>
      <span className="max-md:text-right">
        <RunStatusBadge status={run.status} />
      </span>
      <span className="flex flex-wrap gap-x-3 text-sm text-muted max-md:col-span-2 max-md:col-start-2 md:contents md:text-base">
        <span className="md:text-right">
          {count(run.steps)}
          <span className="md:sr-only"> {run.steps === 1 ? 'step' : 'steps'}</span>
        </span>
        <span className="md:text-right">{duration(run.durationMs)}</span>
        <span
          className={`md:text-right ${run.costUsd === undefined ? 'max-md:hidden' : ''}`}
          title={
            run.costUsd === undefined ? 'No model was asked, or a price is not known' : undefined
          }
        >
          {run.costUsd === undefined ? '–' : cost(run.costUsd)}
        </span>
        <time
          dateTime={exact.toISOString()}
          title={localDateTime(run.startedAt)}
          className="md:text-right"
        >
          {relativeTime(run.startedAt, now)}
        </time>
      </span>
    </div>
  )
}

function BranchNote({ branch }: { readonly branch: NonNullable<RunCard['branch']> }) {
  return (
    <span className="min-w-0 shrink truncate text-sm text-muted">
      {branch.kind} of{' '}
      <Link
        to="/runs/$run"
        params={{ run: branch.parent }}
        search={{}}
        className="font-mono underline decoration-line-strong hover:text-accent"
      >
        {branch.parent}
      </Link>
    </span>
  )
}
