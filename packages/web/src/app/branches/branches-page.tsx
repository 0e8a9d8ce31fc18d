import { cost, count, duration, localTime, plural } from '@retake/tape/present'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { type KeyboardEvent, useMemo, useRef, useState } from 'react'
import type { BranchNodeView } from '../../api/run-repository.js'
import { useCommands } from '../commands/commands.js'
import { Badge, Facts, RunStatusBadge } from '../design/badge.js'
import { Button, RunLink } from '../design/button.js'
import { EmptyNote, ErrorNote, Spinner } from '../design/notes.js'
import { treeAction, type TreeRow, treeRows } from '../design/tree.js'
import { PageFrame } from '../shell/page-frame.js'
import { type RelatedRuns, useBackend, useRefresh } from '../sources/backend.js'

type BranchRow = TreeRow<BranchNodeView>

function BranchFacts({ node }: { node: BranchNodeView }) {
  const { facts, steps, startedAt, durationMs, costUsd } = node
  return (
    <Facts
      className="text-sm"
      facts={[
        { label: 'steps', value: steps === undefined ? undefined : count(steps) },
        {
          label: 'saved',
          value: facts && amount(facts.savedRequests, facts.savedUsd),
          title: facts && `${plural(facts.served, 'step')} served from its parent`,
        },
        {
          label: facts === undefined ? 'cost' : 'paid',
          value:
            facts === undefined
              ? costUsd === undefined
                ? undefined
                : cost(costUsd)
              : amount(facts.paidRequests, facts.paidUsd),
          title: facts && `${plural(facts.live, 'step')} live`,
        },
        { label: 'lost', value: facts && facts.lost > 0 ? count(facts.lost) : undefined },
        { label: 'took', value: durationMs === undefined ? undefined : duration(durationMs) },
        {
          label: 'when',
          value:
            startedAt === undefined ? undefined : (
              <time dateTime={new Date(startedAt).toISOString()}>{localTime(startedAt)}</time>
            ),
        },
      ]}
    />
  )
}

const amount = (requests: number, usd: number | undefined): string =>
  requests === 0
    ? plural(requests, 'request')
    : `${plural(requests, 'request')} · ${usd === undefined ? 'cost unknown' : cost(usd)}`

interface BranchLineProps {
  readonly row: BranchRow
  readonly index: number
  readonly isCurrent: boolean
  readonly isThisRun: boolean
  readonly isMarked: boolean
  readonly markTitle: string
  readonly onFocus: () => void
  readonly onToggle: () => void
  readonly onMark: () => void
}

/** Deeper branches are not indented further. */
const RAILS_MAX = 16

function BranchLine({ row, index, isCurrent, isThisRun, isMarked, ...on }: BranchLineProps) {
  const { item: node, depth, isOpen } = row
  return (
    <div
      role="treeitem"
      data-index={index}
      tabIndex={isCurrent ? 0 : -1}
      aria-level={depth + 1}
      aria-posinset={row.index}
      aria-setsize={row.of}
      aria-expanded={isOpen}
      aria-selected={isMarked}
      aria-current={isThisRun ? 'true' : undefined}
      className="flex items-stretch rounded pr-2 hover:bg-raised aria-[current=true]:bg-accent-soft"
      onFocus={on.onFocus}
    >
      <Rails row={row} />
      <span className="flex w-5 shrink-0 items-start pt-2">
        {isOpen === undefined ? (
          <span aria-hidden="true" className="mx-auto mt-1.5 size-2 rounded-full bg-muted" />
        ) : (
          <button
            type="button"
            tabIndex={-1}
            // For the mouse only. Screen readers get the state from the tree.
            aria-hidden="true"
            className="w-5 text-center text-muted hover:text-text"
            onClick={on.onToggle}
          >
            {isOpen ? '▾' : '▸'}
          </button>
        )}
      </span>
      <div className="min-w-0 flex-1 py-1.5">
        <div className="flex flex-wrap items-center gap-x-2 gap-y-0.5">
          {node.error === undefined ? (
            <RunLink run={node.id} tabIndex={-1} className="font-medium hover:text-accent">
              {node.name}
            </RunLink>
          ) : (
            <span className="font-medium">{node.id}</span>
          )}
          <span className="font-mono text-sm text-muted">
            {node.error === undefined && node.id}
          </span>
          {node.how !== undefined && <Badge>{node.how}</Badge>}
          {node.branch?.tail === 'offline' && <Badge>offline</Badge>}
          {node.status !== undefined && <RunStatusBadge status={node.status} />}
          {node.exitCode !== undefined && node.exitCode !== 0 && (
            <Badge tone="danger">exit code {node.exitCode}</Badge>
          )}
          {isThisRun && <span className="text-sm text-muted">this run</span>}
        </div>
        {node.error !== undefined && (
          <p className="text-sm wrap-anywhere text-danger">
            {node.error.what} {node.error.why}
          </p>
        )}
        {(node.edits ?? []).map((edit) => (
          <p
            key={edit}
            className="line-clamp-3 font-mono text-sm wrap-anywhere text-muted sm:line-clamp-1"
            title={edit}
          >
            {edit}
          </p>
        ))}
        {node.lastLine !== undefined && (
          <p
            className="line-clamp-3 font-mono text-sm wrap-anywhere sm:line-clamp-1"
            title="The last line it printed"
          >
            {node.lastLine}
          </p>
        )}
        <BranchFacts node={node} />
      </div>
      {node.error === undefined && (
        <span className="flex shrink-0 items-start pt-1.5">
          <Button
            tabIndex={-1}
            look={isMarked ? 'primary' : 'plain'}
            aria-pressed={isMarked}
            onClick={on.onMark}
          >
            {on.markTitle}
          </Button>
        </span>
      )}
    </div>
  )
}

/** A vertical line for each ancestor that has a later branch. */
function Rails({ row }: { row: BranchRow }) {
  const shown: BranchRow[] = []
  for (let at = row; at.parent !== undefined && shown.length < RAILS_MAX; at = at.parent)
    shown.unshift(at)
  return (
    <span aria-hidden="true" className="flex shrink-0 self-stretch pl-2.5">
      {shown.map((each) => {
        const isLast = each === row
        const goesOn = each.index < each.of
        return (
          <span key={each.depth} className="relative w-5">
            {(goesOn || isLast) && (
              <span
                className={`absolute top-0 left-0 border-l border-line-strong ${goesOn ? 'bottom-0' : 'h-4.5'}`}
              />
            )}
            {isLast && <span className="absolute top-4.5 left-0 w-4 border-t border-line-strong" />}
          </span>
        )
      })}
    </span>
  )
}

/**
 * The tree as a list. Arrow keys move, open and close; Enter opens a run; `d` marks a run to compare.
 */
function BranchTree({ root, run }: { root: BranchNodeView; run: string }) {
  const navigate = useNavigate()
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set())
  const [chosen, setChosen] = useState(run)
  const [marked, setMarked] = useState<string>()
  const rows = useMemo(() => {
    const isOpen = ({ id, branches }: BranchNodeView): boolean | undefined =>
      branches.length === 0 ? undefined : !closed.has(id)
    return treeRows(root, { isOpen, partsOf: ({ branches }) => branches })
  }, [root, closed])
  const list = useRef<HTMLDivElement>(null)
  const current = Math.max(
    0,
    rows.findIndex(({ item }) => item.id === chosen),
  )

  const go = (index: number): void => {
    const next = Math.max(0, Math.min(rows.length - 1, index))
    setChosen(rows[next]?.item.id ?? '')
    list.current?.querySelector<HTMLElement>(`[data-index="${next}"]`)?.focus()
  }
  const toggle = ({ item }: BranchRow): void => {
    const next = new Set(closed)
    if (!next.delete(item.id)) next.add(item.id)
    setClosed(next)
  }
  const open = (node: BranchNodeView): void => {
    if (node.error !== undefined) return
    // A branch opens at the step where it left its parent.
    const { at } = node.branch ?? {}
    const search = at === undefined || /^e\d/.test(at) ? {} : { step: at }
    void navigate({ to: '/runs/$run', params: { run: node.id }, search })
  }
  const mark = (id: string): void => {
    if (marked === undefined || marked === id) setMarked(marked === id ? undefined : id)
    else void navigate({ to: '/compare/$a/$b', params: { a: marked, b: id } })
  }
  const onKey = (event: KeyboardEvent): void => {
    const row = rows[current]
    if (row === undefined || !(event.target as HTMLElement).matches('[role=treeitem]')) return
    const action =
      event.key === 'Enter'
        ? () => open(row.item)
        : treeAction(event.key, rows, current, { go, toggle })
    if (action === undefined) return
    event.preventDefault()
    action()
  }
  const row = rows[current]
  useCommands((add) => {
    add('Move', 'branch-next', 'Next branch', ['j'], () => go(current + 1))
    add('Move', 'branch-previous', 'Previous branch', ['k'], () => go(current - 1))
    const compare =
      marked === undefined ? 'Mark this run to compare it' : 'Compare the marked run with this one'
    const disabled = row?.item.error === undefined ? undefined : 'its tape cannot be read'
    add('Look', 'branch-compare', compare, { keys: ['d'], disabled }, () => {
      if (row !== undefined) mark(row.item.id)
    })
    const isAnyClosed = closed.size > 0
    const fold = isAnyClosed ? 'Open all branches' : 'Close all branches'
    add('View', 'branches-close-all', fold, [], () => {
      const inner = rows.filter(({ depth }) => depth > 0).map(({ item }) => item.id)
      setClosed(new Set(isAnyClosed ? [] : inner))
    })
  })
  return (
    <div
      ref={list}
      role="tree"
      tabIndex={-1}
      aria-label="Runs and their branches"
      onKeyDown={onKey}
    >
      {rows.map((each, index) => (
        <BranchLine
          key={each.item.id}
          row={each}
          index={index}
          isCurrent={index === current}
          isThisRun={each.item.id === run}
          isMarked={each.item.id === marked}
          markTitle={
            marked === undefined
              ? 'Compare'
              : marked === each.item.id
                ? 'Marked'
                : 'Compare with it'
          }
          onFocus={() => setChosen(each.item.id)}
          onToggle={() => toggle(each)}
          onMark={() => mark(each.item.id)}
        />
      ))}
    </div>
  )
}

/** Delays the refresh, because changes come in bursts while a branch runs. */
const delayOf = (change: { readonly type: string; readonly state?: string }): number | undefined =>
  change.type === 'connection' && change.state === 'lost' ? undefined : 500

function Branches({ run, related }: { run: string; related: RelatedRuns }) {
  const { live } = useBackend()
  const { data, error, isPending } = useQuery({
    queryKey: ['branches', run],
    queryFn: () => related.branches(run),
    staleTime: 0,
  })
  useRefresh('branches', delayOf)
  const name = data?.name ?? run
  const count = useMemo(
    () =>
      data === undefined
        ? 0
        : treeRows(data, { isOpen: () => true, partsOf: ({ branches }) => branches }).length - 1,
    [data],
  )
  return (
    <PageFrame
      title="Branches"
      documentTitle={`Branches of ${name}`}
      crumbs={[{ title: name, link: { to: '/runs/$run', params: { run }, search: {} } }]}
      status={data && plural(count, 'branch', 'branches')}
    >
      <div className="relative h-full overflow-auto">
        <div className="flex flex-col gap-3 p-3">
          {isPending && <Spinner label="Reading the branches…" />}
          {error !== null && <ErrorNote error={error} />}
          {data !== undefined && <BranchTree root={data} run={run} />}
          {data?.branches.length === 0 && (
            <EmptyNote title="This run has no branches yet.">
              {live && <p>Open a step and fork it: change the answer or the request.</p>}
            </EmptyNote>
          )}
          {data?.unreadable !== undefined && (
            <ErrorNote
              error={{
                code: 'UNEXPECTED',
                what: `Unreadable tapes that may be branches of this run: ${data.unreadable.join(', ')}`,
              }}
            />
          )}
        </div>
      </div>
    </PageFrame>
  )
}

export function BranchesPage() {
  const { related } = useBackend()
  const { run = '' } = useParams({ strict: false })
  if (related === undefined)
    return <EmptyNote title="A report contains one run; there are no branches." />
  return <Branches key={run} run={run} related={related} />
}
