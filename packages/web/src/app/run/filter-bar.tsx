import { clock, count, plural } from '@retake/tape/present'
import { Button } from '../design/button.js'
import { CloseIcon } from '../design/icons.js'
import { CostFilter } from './cost-filter.js'
import type { FilteredRows } from './filtered-rows.js'
import { FilterMenu } from './filter-menu.js'
import { isEmpty } from './row-filter.js'
import type { Filtering } from './use-filter.js'
import type { Run } from './use-run.js'
import { laneName } from './lane-name.js'

export interface FilterBarProps {
  readonly run: Run
  readonly shown: FilteredRows
  readonly filtering: Filtering
}

/** Which steps are shown, and how many are not. */
export function FilterBar({ run, shown, filtering }: FilterBarProps) {
  const { head, rows } = run
  const { filter, clear } = filtering
  const menu = { rows, filtering }
  const nameOfLane = (lane: string | number): string =>
    laneName(Number(lane), head.lanes.find(({ id }) => id === lane)?.name)
  return (
    <div
      role="toolbar"
      aria-label="Filters"
      className="flex min-w-0 flex-1 items-center gap-1 overflow-x-auto"
    >
      <FilterMenu {...menu} field="kinds" title="kind" />
      <FilterMenu {...menu} field="states" title="state" />
      {(head.lanes.length > 1 || filter.lanes.length > 0) && (
        <FilterMenu {...menu} field="lanes" title="lane" nameOf={nameOfLane} />
      )}
      <FilterMenu {...menu} field="tools" title="tool" />
      <FilterMenu {...menu} field="models" title="model" />
      {(head.branch !== undefined || filter.badges.length > 0) && (
        <FilterMenu {...menu} field="badges" title="origin" />
      )}
      <CostFilter filtering={filtering} />
      <TimeChip filtering={filtering} />
      <output className="ml-auto shrink-0 pl-2 whitespace-nowrap">
        {isEmpty(filter) ? plural(rows.length, 'step') : hiddenText(shown)}
      </output>
      {!isEmpty(filter) && (
        <Button look="quiet" className="h-6 shrink-0 px-1.5 text-sm" onClick={clear}>
          Clear filters
        </Button>
      )}
    </div>
  )
}

/** Nothing is hidden silently, least of all what only might not fit. */
function hiddenText({ rows, filter, length }: FilteredRows): string {
  const text = `${count(length)} of ${plural(rows.length, 'step')}`
  const unknown = filter.costMin === undefined ? 0 : (rows.totals?.unknownCost.length ?? 0)
  return unknown === 0 ? text : `${text}, ${count(unknown)} hidden whose cost is unknown`
}

/** The stretch of time that was marked on the timeline. */
function TimeChip({ filtering: { filter, change } }: { readonly filtering: Filtering }) {
  const { from, to } = filter
  if (from === undefined && to === undefined) return null
  const text = `${clock(from ?? 0)} to ${to === undefined ? 'the end' : clock(to)}`
  return (
    <button
      type="button"
      aria-label={`Time ${text}: show all times`}
      className="inline-flex h-6 shrink-0 items-center gap-1 rounded border border-accent bg-accent-soft px-1.5 whitespace-nowrap text-accent"
      onClick={() => change({ from: undefined, to: undefined })}
    >
      {text}
      <CloseIcon />
    </button>
  )
}
