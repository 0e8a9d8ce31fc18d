import { Link } from '@tanstack/react-router'
import { Badge } from '../design/badge.js'
import { Button } from '../design/button.js'
import { RunStatusBadge } from '../design/status-badges.js'
import { BranchFacts } from './branch-facts.js'
import type { BranchRow } from './branch-rows.js'

export interface BranchLineProps {
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

/** Deeper branches are not moved further to the right: there would be no room for them. */
const DEEPEST_RAIL = 16

/** One run of the tree: how it came to be, what was changed, what it came to. */
export function BranchLine({ row, index, isCurrent, isThisRun, isMarked, ...on }: BranchLineProps) {
  const { node, depth, isOpen } = row
  return (
    <div
      role="treeitem"
      data-place={index}
      tabIndex={isCurrent ? 0 : -1}
      aria-level={depth + 1}
      aria-posinset={row.place}
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
            // The tree itself says that it is open or closed; this one is for the mouse.
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
            <Link
              to="/runs/$run"
              params={{ run: node.id }}
              search={{}}
              tabIndex={-1}
              className="font-medium hover:text-accent"
            >
              {node.name}
            </Link>
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

/** The lines from a run to its branches, as in a graph of commits. */
function Rails({ row: { rails } }: { readonly row: BranchRow }) {
  const shown = rails.slice(-DEEPEST_RAIL).map((goesOn, column) => ({ goesOn, column }))
  return (
    <span aria-hidden="true" className="flex shrink-0 self-stretch pl-2.5">
      {shown.map(({ goesOn, column }) => {
        const isLast = column === shown.length - 1
        return (
          <span key={column} className="relative w-5">
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
