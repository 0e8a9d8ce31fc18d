import { cost, count, duration, localDateTime, plural, relativeTime } from '@retake/tape/present'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useMemo, useRef, useState } from 'react'
import type { RepositoryChange } from '../../api/run-repository.js'
import type { RunCard } from '@retake/tape'
import type { UnreadableRun } from '../../model/run-source.js'
import { useCommands } from '../commands/commands.js'
import { ListedRunStatus } from '../change/waiting-approvals.js'
import { Badge, ImportedBadge } from '../design/badge.js'
import { Button, buttonLook, RunLink } from '../design/button.js'
import { classes } from '../design/classes.js'
import { TextField } from '../design/fields.js'
import { DiffIcon } from '../design/icons.js'
import { EmptyNote, ErrorNote, Spinner } from '../design/notes.js'
import { CopyCommand } from '../design/toast.js'
import { PageFrame } from '../shell/page-frame.js'
import { type ConnectionChange, isReconnected, useBackend, useRefresh } from '../sources/backend.js'
import { VisibleText } from '../values/text.js'
import {
  countByStatus,
  filterRuns,
  type ListedRow,
  type ListedRun,
  type RunSort,
  type RunsSearch,
  sortRuns,
  SORTS,
  type StatusFilter,
} from './runs-search.js'

/** Refreshes growing runs at most once a second. */
function delayOf(change: RepositoryChange | ConnectionChange): number | undefined {
  if (change.type === 'runs' || change.type === 'gone' || change.type === 'findings') return 0
  return change.type === 'grew' || isReconnected(change) ? 1000 : undefined
}

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
  readonly depth: number
  readonly now: number
  readonly isChosen: boolean
  readonly onChoose: (isChosen: boolean) => void
}

/** On narrow screens, the figures have their own line. */
const COLUMNS =
  'grid grid-cols-[1.25rem_minmax(0,1fr)] items-start gap-x-3 px-3 lg:grid-cols-[1.25rem_minmax(0,1fr)_9rem_3.5rem_4.5rem_5rem_5rem_5.5rem]'

function RunRow({ run, depth, now, isChosen, onChoose }: RunRowProps) {
  const { id, name, branch, imported, tags = [], note, models = [], tokens, costUsd } = run
  const indent = { paddingLeft: `${Math.min(depth, 8) * 20}px` }
  return (
    <div className={`${COLUMNS} py-1.5 hover:bg-raised has-[a:focus-visible]:bg-accent-soft`}>
      <input
        type="checkbox"
        aria-label={`Select ${name} to compare`}
        checked={isChosen}
        onChange={(event) => onChoose(event.target.checked)}
        className="mt-0.5 size-4 accent-accent"
      />
      <div className="min-w-0" style={indent}>
        <div className="flex min-w-0 flex-wrap items-center gap-x-2 gap-y-0.5">
          {depth > 0 && (
            <span aria-hidden="true" className="-ml-4 text-muted">
              └
            </span>
          )}
          <RunLink
            run={id}
            data-run={id}
            className="max-w-full truncate rounded-sm font-semibold hover:text-accent"
          >
            {name}
          </RunLink>
          <ListedRunStatus run={run} />
          {imported !== undefined && <ImportedBadge />}
          {tags.map((tag) => (
            <Badge key={tag}>{tag}</Badge>
          ))}
          {name !== id && (
            <span className="truncate font-mono text-sm text-muted max-sm:hidden">{id}</span>
          )}
          {branch && (
            <span className="min-w-0 shrink truncate text-sm text-muted">
              {branch.kind}
              {depth === 0 && (
                <>
                  {' of '}
                  <RunLink
                    run={branch.parent}
                    className="font-mono underline decoration-line-strong hover:text-accent"
                  >
                    {branch.parent}
                  </RunLink>
                </>
              )}
            </span>
          )}
        </div>
        <SecondLine run={run} />
        {note !== undefined && (
          <p className="truncate text-sm text-muted italic" title={note}>
            {note}
          </p>
        )}
      </div>
      <div className="flex flex-wrap gap-x-3 text-sm text-muted max-lg:col-start-2 lg:contents [&>*]:lg:pt-0.5 [&>*]:lg:text-right">
        <span
          className={`truncate lg:!text-left ${models.length === 0 ? 'max-lg:hidden' : ''}`}
          title={models.join(', ')}
        >
          {models[0]}
          {models.length > 1 && ` +${models.length - 1}`}
        </span>
        <Figure of={count(run.steps)} word={run.steps === 1 ? 'step' : 'steps'} />
        <Figure of={tokens ? count(tokens) : undefined} word="tokens" />
        <Figure
          of={costUsd === undefined ? undefined : cost(costUsd)}
          title={costUsd === undefined ? 'No model call, or a price is unknown' : undefined}
        />
        <Figure of={duration(run.durationMs)} />
        <time
          dateTime={new Date(run.startedAt).toISOString()}
          title={localDateTime(run.startedAt)}
          className="whitespace-nowrap"
        >
          {relativeTime(run.startedAt, now)}
        </time>
      </div>
    </div>
  )
}

/** The label is shown only where there is no heading above. */
const Figure = (props: {
  readonly of: string | undefined
  readonly word?: string
  readonly title?: string | undefined
}) => (
  <span
    title={props.title}
    className={`whitespace-nowrap tabular-nums ${props.of === undefined ? 'max-lg:hidden' : ''}`}
  >
    {props.of ?? '–'}
    {props.word !== undefined && <span className="lg:sr-only"> {props.word}</span>}
  </span>
)

/** Distinguishes runs with the same name: the error, or the last line of output. */
function SecondLine({ run: { failure, lastLine, input } }: { run: RunCard }) {
  const text = failure ?? lastLine ?? input
  if (text === undefined) return null
  return (
    <p className={`truncate ${failure === undefined ? 'text-muted' : 'text-danger'}`} title={text}>
      <VisibleText text={text} />
    </p>
  )
}

/** Headings to sort by. The first click sorts in descending order. */
function SortBar({ search, onSort }: { search: RunsSearch; onSort: (next: RunsSearch) => void }) {
  const { sort, up, ...rest } = search
  const next = (column: RunSort): RunsSearch => {
    if (sort !== column) return { ...rest, sort: column, ...(isText(column) && { up: true }) }
    return (up === true) === isText(column)
      ? { ...rest, sort, ...(up !== true && { up: true }) }
      : rest
  }
  return (
    <div
      // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- buttons, not form fields
      role="group"
      aria-label="Sort by"
      className={`${COLUMNS} sticky top-0 z-10 h-7 items-center border-b border-line bg-surface text-sm text-muted max-lg:hidden`}
    >
      <span />
      {SORTS.map((column) => (
        <button
          key={column}
          type="button"
          aria-pressed={sort === column}
          title={`Sort by ${column}`}
          className={`h-6 capitalize hover:text-text aria-pressed:text-text ${isText(column) ? 'text-left' : 'text-right'}`}
          onClick={() => onSort(next(column))}
        >
          {column === 'name' ? 'Run' : column}
          {sort === column && (
            <span aria-label={up === true ? 'smallest first' : 'largest first'}>
              {up === true ? ' ↑' : ' ↓'}
            </span>
          )}
        </button>
      ))}
    </div>
  )
}

const isText = (column: RunSort): boolean => column === 'name' || column === 'model'

interface RunsListProps {
  readonly rows: readonly ListedRow[]
  readonly search: RunsSearch
  readonly onSort: (search: RunsSearch) => void
  readonly chosen: readonly string[]
  readonly onChoose: (run: string, isChosen: boolean) => void
}

function RunsList({ rows, search, onSort, chosen, onChoose }: RunsListProps) {
  const now = useNow()
  const runs = rows.map(({ run }) => run)
  const scroller = useRef<HTMLDivElement>(null)
  const list = useVirtualizer({
    count: runs.length,
    getScrollElement: () => scroller.current,
    getItemKey: (index) => runs[index]?.id ?? index,
    estimateSize: () => 51,
    overscan: 15,
  })

  /** Moves the focus between runs; unreadable ones cannot be focused. */
  const move = (by: 1 | -1): void => {
    const now = document.activeElement?.closest('li')?.querySelector<HTMLElement>('[data-run]')
    const from = runs.findIndex(({ id }) => id === now?.dataset['run'])
    let index = from < 0 && by < 0 ? runs.length : from
    do index += by
    while ('error' in (runs[index] ?? {}))
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
      <SortBar search={search} onSort={onSort} />
      <ul aria-label="Runs" className="relative" style={{ height: list.getTotalSize() }}>
        {list.getVirtualItems().map(({ index, start, key }) => {
          const { run, depth } = rows[index] ?? {}
          if (run === undefined || depth === undefined) return null
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
                  depth={depth}
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
const NO_RUNS: readonly ListedRun[] = []

/** The list of runs. If the server has its own list, redirects there. */
export function RunsPage() {
  const { parent } = useBackend()
  useEffect(() => {
    if (parent !== undefined) location.replace(parent.href)
  }, [parent])
  return parent === undefined ? <OwnRunsPage /> : null
}

function OwnRunsPage() {
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
  const all = runs.data ?? NO_RUNS
  const shown = useMemo(() => sortRuns(filterRuns(all, search), search), [all, search])
  const [a, b] = chosen

  useCommands((add) => {
    add('Look', 'search', 'Filter the runs', ['/'], () => field.current?.focus())
    const options = { keys: ['d'], disabled: b === undefined ? 'Select two runs' : undefined }
    add('Change', 'runs.compare', 'Compare the two selected runs', options, () => {
      if (a !== undefined && b !== undefined)
        void navigate({ to: '/compare/$a/$b', params: { a, b } })
    })
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
            <search className="flex shrink-0 flex-wrap items-center gap-2 border-b border-line px-3 py-1.5">
              <TextField
                ref={field}
                label="Filter runs by name, id, error, output, model or tag"
                hidesLabel
                type="search"
                placeholder="Name, error, output, model, tag…"
                value={search.text ?? ''}
                onChange={(text) => filter({ ...search, text: text || undefined })}
                onKeyDown={(event) => {
                  if (event.key === 'Escape') event.currentTarget.blur()
                }}
                className="w-72 max-sm:min-w-0 max-sm:flex-1"
              />
              <StatusChips
                runs={all}
                status={search.status}
                onChange={(status) => filter({ ...search, status })}
              />
            </search>
            {shown.length === 0 ? (
              <EmptyNote title="No run matches.">
                <Button onClick={() => filter({})}>Show all {all.length}</Button>
              </EmptyNote>
            ) : (
              <RunsList
                rows={shown}
                search={search}
                onSort={filter}
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

interface StatusChipsProps {
  readonly runs: readonly ListedRun[]
  readonly status: StatusFilter | undefined
  readonly onChange: (status: StatusFilter | undefined) => void
}

const StatusChips = ({ runs, status, onChange }: StatusChipsProps) => (
  // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- a choice without form fields
  <div role="group" aria-label="Status" className="flex flex-wrap items-center gap-1">
    {countByStatus(runs).map((each) => (
      <button
        key={each.status}
        type="button"
        aria-pressed={status === each.status}
        className={classes(
          'h-6 rounded-full border px-2 text-sm whitespace-nowrap aria-pressed:border-accent aria-pressed:bg-accent-soft aria-pressed:text-accent',
          each.status === 'failed'
            ? 'border-transparent bg-danger-soft text-danger'
            : 'border-line text-muted hover:text-text',
        )}
        onClick={() => onChange(status === each.status ? undefined : each.status)}
      >
        {count(each.count)} {each.status}
      </button>
    ))}
  </div>
)

function NoRuns() {
  const { live } = useBackend()
  return (
    <EmptyNote title="There are no runs here yet.">
      {live && (
        <>
          <p>Record an agent as it is:</p>
          <p>
            <CopyCommand command="retake record agent.ts" />
          </p>
          <p>Or record a demo agent with a bug:</p>
          <p>
            <CopyCommand command="retake demo" />
          </p>
        </>
      )}
      <p>The list updates automatically.</p>
    </EmptyNote>
  )
}
