import { getRouteApi } from '@tanstack/react-router'
import { useCallback, useMemo } from 'react'
import { FilteredRows } from './filtered-rows.js'
import type { RowFilter } from './row-filter.js'
import type { RowStore } from './row-store.js'
import { filterOf, searchOf } from './run-search.js'
import { useRows } from './use-run.js'

const route = getRouteApi('/runs/$run')

export interface Filtering {
  readonly filter: RowFilter
  /** Changes some fields of the filter. It stands in the address, so going back undoes it. */
  readonly change: (fields: Partial<RowFilter>) => void
  readonly clear: () => void
}

/** Which rows are shown, as the address says. */
export function useFilter(): Filtering {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const key = JSON.stringify(searchOf(filterOf(search)))
  const filter = useMemo(() => filterOf(JSON.parse(key) as ReturnType<typeof searchOf>), [key])
  const change = useCallback<Filtering['change']>(
    (fields) =>
      void navigate({
        search: (old) => ({ ...old, ...searchOf({ ...filterOf(old), ...fields }) }),
      }),
    [navigate],
  )
  const clear = useCallback(
    () => void navigate({ search: (old) => ({ ...old, ...searchOf({}) }) }),
    [navigate],
  )
  return { filter, change, clear }
}

/** The rows that are left, as they arrive. */
export function useShownRows(rows: RowStore, filter: RowFilter): FilteredRows {
  useRows(rows)
  return useMemo(() => new FilteredRows(rows, filter), [rows, filter]).update()
}
