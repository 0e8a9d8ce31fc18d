import { cost, count, duration, localDateTime, plural, relativeTime } from '@retake/tape/present'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useRef, useState } from 'react'
import type { RepositoryChange } from '../../api/run-repository.js'
import type { RunCard, UnreadableRun } from '../../model/run-source.js'
import { useCommands } from '../commands/commands.js'
import { ListedRunStatus } from '../change/waiting-approvals.js'
import { Badge } from '../design/badge.js'
import { Button, buttonLook, RunLink } from '../design/button.js'
import { Select, TextField } from '../design/fields.js'
import { DiffIcon } from '../design/icons.js'
import { EmptyNote, ErrorNote, Spinner } from '../design/notes.js'
import { CopyButton } from '../design/toast.js'
import { PageFrame } from '../shell/page-frame.js'
import { type ConnectionChange, useBackend, useRefresh } from '../sources/backend.js'
import { filterRuns, type ListedRun, type RunsSearch, STATUS_FILTERS } from './runs-search.js'

/** Growing runs are fetched at most once a second. */
function delayOf(change: RepositoryChange | ConnectionChange): number | undefined {
  if (change.type === 'runs' || change.type === 'gone') return 0
  const isBack = change.type === 'connection' && change.state === 'open'
  return change.type === 'grew' || isBack ? 1000 : undefined
}

/** The time, every half minute. */
function useNow(): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 30_000)
    return () => clearInterval(timer)
  }, [])
  return now
}

interface RunRowProps {
  readonly run: RunCard
  readonly now: number
  readonly isChosen: boolean
  readonly onChoose: (isChosen: boolean) => void
}

/** On a phone a run has two lines. */
const COLUMNS =
  'grid grid-cols-[1.5rem_minmax(0,1fr)_auto] items-center gap-x-3 px-3 md:grid-cols-[1.5rem_minmax(0,1fr)_5.5rem_5rem_5rem_6rem_6rem]'

function RunRow({ run, now, isChosen, onChoose }: RunRowProps) {
  const exact = new Date(run.startedAt)
  return (
    <div className={`${COLUMNS} min-h-8 py-1 hover:bg-raised has-[a:focus-visible]:bg-accent-soft`}>
      <input
        type="checkbox"
        aria-label={`Select ${run.name} to compare`}
        checked={isChosen}
        onChange={(event) => onChoose(event.target.checked)}
        className="size-4 accent-accent max-md:row-span-2 max-md:self-start max-md:mt-0.5"
      />
      <span className="flex min-w-0 items-center gap-2">
        <RunLink
          run={run.id}

          data-run={run.id}
          className="truncate rounded-sm font-medium hover:text-accent"
        >
          {run.name}
        </RunLink>
        {run.name !== run.id && (
          <span className="truncate font-mono text-sm text-muted max-sm:hidden">{run.id}</span>
        )}
        {run.branch && (
          <span className="min-w-0 shrink truncate text-sm text-muted">
            {run.branch.kind} of{' '}
            <RunLink
              run={run.branch.parent}
              className="font-mono underline decoration-line-strong hover:text-accent"
            >
              {run.branch.parent}
            </RunLink>
          </span>
        )}
      </span>
      <span className="max-md:text-right">
        <ListedRunStatus run={run.id} status={run.status} />
      </span>
      <span className="flex flex-wrap gap-x-3 text-sm text-muted max-md:col-span-2 max-md:col-start-2 md:contents md:text-base">
        <span className="md:text-right">
          {count(run.steps)}
          <span className="md:sr-only"> {run.steps === 1 ? 'step' : 'steps'}</span>
        </span>
        <span className="md:text-right">{duration(run.durationMs)}</span>
        <span
          className={`md:text-right ${run.costUsd === undefined ? 'max-md:hidden' : ''}`}
          title={run.costUsd === undefined ? 'No model call, or a price is unknown' : undefined}
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

interface RunsListProps {
  readonly runs: readonly ListedRun[]
  readonly chosen: readonly string[]
  readonly onChoose: (run: string, isChosen: boolean) => void
}

/** Virtualised. */
function RunsList({ runs, chosen, onChoose }: RunsListProps) {
  const now = useNow()
  const scroller = useRef<HTMLDivElement>(null)
  const list = useVirtualizer({
    count: runs.length,
    getScrollElement: () => scroller.current,
    getItemKey: (index) => runs[index]?.id ?? index,
    estimateSize: () => 33,
    overscan: 15,
  })

  /** Moves the focus between runs; unreadable ones have nothing to focus. */
  const move = (by: 1 | -1): void => {
    const now = document.activeElement?.closest('li')?.querySelector<HTMLElement>('[data-run]')
    const from = runs.findIndex(({ id }) => id === now?.dataset['run'])
    const index = nextReadable(runs, from, by)
    const run = runs[index]
    if (run === undefined) return
    list.scrollToIndex(index)
    focusRun(scroller.current, run.id)
  }
  useCommands((add) => {
    add('Move', 'runs.next', 'Next run', ['j', 'ArrowDown'], () => move(1))
    add('Move', 'runs.previous', 'Previous run', ['k', 'ArrowUp'], () => move(-1))
    add('Change', 'runs.choose', 'Select this run to compare', ['x'], () => {
      const run = document.activeElement?.closest<HTMLElement>('[data-run]')?.dataset['run']
      if (run !== undefined) onChoose(run, !chosen.includes(run))
    })
  })

  return (
    <div ref={scroller} className="min-h-0 flex-1 overflow-auto" tabIndex={-1}>
      <div
        aria-hidden="true"
        className={`${COLUMNS} sticky top-0 z-10 h-7 border-b border-line bg-surface text-sm text-muted max-md:hidden [&>*]:text-right`}
      >
        <span />
        <span className="!text-left">Run</span>
        <span className="!text-left">Status</span>
        <span>Steps</span>
        <span>Duration</span>
        <span>Cost</span>
        <span>Started</span>
      </div>
      <ul aria-label="Runs" className="relative" style={{ height: list.getTotalSize() }}>
        {list.getVirtualItems().map(({ index, start, key }) => {
          const run = runs[index]
          if (run === undefined) return null
          return (
            <li
              key={key}
              ref={list.measureElement}
              data-index={index}
              className="absolute top-0 left-0 w-full border-b border-line"
              style={{ transform: `translateY(${start}px)` }}
            >
              {'error' in run ? (
                <UnreadableRow run={run} />
              ) : (
                <RunRow
                  run={run}
                  now={now}
                  isChosen={chosen.includes(run.id)}
                  onChoose={(isChosen) => onChoose(run.id, isChosen)}
                />
              )}
            </li>
          )
        })}
      </ul>
    </div>
  )
}

function nextReadable(runs: readonly ListedRun[], from: number, by: 1 | -1): number {
  const start = from < 0 && by < 0 ? runs.length : from
  for (let index = start + by; index >= 0 && index < runs.length; index += by) {
    const run = runs[index]
    if (run !== undefined && !('error' in run)) return index
  }
  return -1
}

/** The row may be rendered only after the list has scrolled. */
function focusRun(list: HTMLElement | null, run: string, triesLeft = 5): void {
  const link = list?.querySelector<HTMLElement>(`[data-run="${CSS.escape(run)}"]`)
  if (link) link.focus()
  else if (triesLeft > 0) requestAnimationFrame(() => focusRun(list, run, triesLeft - 1))
}

function UnreadableRow({ run }: { run: UnreadableRun }) {
  const { code, what, why, fix } = run.error
  return (
    <div className="flex flex-col gap-0.5 py-1.5 pr-3 pl-12">
      <span className="flex items-center gap-2">
        <span className="truncate font-mono text-sm">{run.id}</span>
        <Badge tone="danger">unreadable</Badge>
        <span className="font-mono text-xs text-muted">{code}</span>
      </span>
      <span className="text-sm wrap-anywhere text-muted">
        {[what, why, fix].filter((each) => each !== undefined).join(' ')}
      </span>
    </div>
  )
}

const route = getRouteApi('/')

export function RunsPage() {
  const backend = useBackend()
  useRefresh('runs', delayOf)
  const runs = useQuery({
    queryKey: ['runs'],
    queryFn: () => backend.runs(),
    refetchOnMount: 'always',
  })
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const [chosen, setChosen] = useState<readonly string[]>([])
  const field = useRef<HTMLInputElement>(null)
  const filter = (next: RunsSearch): void => void navigate({ search: next, replace: true })
  const all = runs.data ?? []
  const shown = filterRuns(all, search)
  const [a, b] = chosen

  useCommands((add) => {
    add('Look', 'search', 'Filter the runs', ['/'], () => field.current?.focus())
    add(
      'Change',
      'runs.compare',
      'Compare the two selected runs',
      { keys: ['d'], disabled: b === undefined ? 'Select two runs' : undefined },
      () => {
        if (a !== undefined && b !== undefined)
          void navigate({ to: '/compare/$a/$b', params: { a, b } })
      },
    )
  })

  return (
    <PageFrame
      title={backend.name}
      status={
        runs.data &&
        (shown.length < all.length
          ? `${shown.length} of ${plural(all.length, 'run')}`
          : plural(all.length, 'run'))
      }
    >
      <div className="flex h-full min-h-0 flex-col">
        {runs.error !== null && (
          <div className="p-3">
            <ErrorNote
              error={runs.error}
              actions={<Button onClick={() => void runs.refetch()}>Try again</Button>}
            />
          </div>
        )}
        {runs.isPending && (
          <p className="p-4">
            <Spinner label="Reading the runs…" />
          </p>
        )}
        {runs.data && all.length === 0 && <NoRuns />}
        {all.length > 0 && (
          <>
            <search className="flex shrink-0 items-center gap-2 border-b border-line px-3 py-1.5">
              <TextField
                ref={field}
                label="Filter runs by name, id or parent"
                hidesLabel
                type="search"
                placeholder="Name, id or parent"
                value={search.text ?? ''}
                onChange={(text) => filter({ ...search, text: text || undefined })}
                onKeyDown={(event) => {
                  if (event.key === 'Escape') event.currentTarget.blur()
                }}
                className="w-72 max-sm:min-w-0 max-sm:flex-1"
              />
              <Select
                label="Status"
                hidesLabel
                value={search.status ?? 'all'}
                options={[
                  { value: 'all', title: 'Any status' },
                  ...STATUS_FILTERS.map((value) => ({ value, title: value })),
                ]}
                onChange={(status) =>
                  filter({ ...search, status: status === 'all' ? undefined : status })
                }
              />
            </search>
            {shown.length === 0 ? (
              <EmptyNote title="No run matches.">
                <Button onClick={() => filter({})}>Show all {all.length}</Button>
              </EmptyNote>
            ) : (
              <RunsList
                runs={shown}
                chosen={chosen}
                onChoose={(run, isChosen) =>
                  setChosen((before) => {
                    const others = before.filter((each) => each !== run)
                    return isChosen ? [...others, run].slice(-2) : others
                  })
                }
              />
            )}
            {a !== undefined && (
              <section
                aria-label="Compare"
                className="flex shrink-0 flex-wrap items-center gap-2 border-t border-line bg-raised px-3 py-1.5"
              >
                <span className="min-w-0 flex-1 truncate">
                  <span className="font-mono text-sm">{a}</span>
                  <span className="text-muted">
                    {b === undefined ? ' is selected; select another one to compare.' : ' and '}
                  </span>
                  <span className="font-mono text-sm">{b}</span>
                </span>
                <Button look="quiet" onClick={() => setChosen([])}>
                  Clear selection
                </Button>
                {b !== undefined && (
                  <Link to="/compare/$a/$b" params={{ a, b }} className={buttonLook('primary')}>
                    <DiffIcon />
                    Compare
                  </Link>
                )}
              </section>
            )}
          </>
        )}
      </div>
    </PageFrame>
  )
}

const NoRuns = () => (
  <EmptyNote title="There are no runs here yet.">
    <p>Record an agent as it is:</p>
    <CommandLine line="retake record agent.ts" />
    <p>Or record a demo agent with a bug:</p>
    <CommandLine line="retake demo" />
    <p>The list updates by itself.</p>
  </EmptyNote>
)

const CommandLine = ({ line }: { line: string }) => (
  <span className="inline-flex items-center gap-1 rounded border border-line bg-sunken pl-3">
    <code className="font-mono text-text">{line}</code>
    <CopyButton text={line} label={`Copy “${line}”`} />
  </span>
)
