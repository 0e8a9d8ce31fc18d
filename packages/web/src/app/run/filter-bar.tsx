import { Button } from '../design/button.js'
import { count, plural } from './figures.js'
import type { FilteredRows } from './filtered-rows.js'
import { isEmpty } from './row-filter.js'
import type { Filtering } from './use-filter.js'
import type { Run } from './use-run.js'

export interface FilterBarProps {
  readonly run: Run
  readonly shown: FilteredRows
  readonly filtering: Filtering
}

/** Which steps are shown, and how many are not. */
export function FilterBar({ run, shown, filtering: { filter, clear } }: FilterBarProps) {
  return (
    <div className="flex h-8 shrink-0 items-center gap-2 border-b border-line px-3 text-sm">
      <span className="ml-auto">
        {isEmpty(filter)
          ? plural(run.rows.length, 'step')
          : `${count(shown.length)} of ${plural(run.rows.length, 'step')}`}
      </span>
      {!isEmpty(filter) && (
        <Button look="quiet" className="h-6" onClick={clear}>
          Clear
        </Button>
      )}
    </div>
  )
}
