import { getRouteApi } from '@tanstack/react-router'
import { useCallback, useMemo, useSyncExternalStore } from 'react'
import { FilteredRows, type RowFilter } from './row-filter.js'
import type { RowStore } from './row-store.js'
import { filterOf, type RunSearch, searchOf } from './run-search.js'
import { useRows } from './use-run.js'

const query = typeof matchMedia === 'function' ? matchMedia('(max-width: 640px)') : undefined

const subscribe = (listener: () => void): (() => void) => {
  query?.addEventListener('change', listener)
  return () => query?.removeEventListener('change', listener)
}

export const useNarrow = (): boolean =>
  useSyncExternalStore(subscribe, () => query?.matches ?? false)

export const route = getRouteApi('/runs/$run')

/** The selected step, tab and field. Stored in the address, so it can be linked and undone. */
export interface Selection {
  readonly step: string | undefined
  readonly tab: string | undefined
  readonly field: string | undefined
  /** `replace` for moves that should not be separate history entries, such as key repeats. */
  readonly select: (
    step: string,
    options?: { tab?: string; field?: string; replace?: boolean },
  ) => void
  readonly show: (tab: string, field?: string) => void
  readonly leave: () => void
}

type Search = RunSearch & { readonly q?: string }

/** Changes the search parameters of the run. */
export function useSearchChange() {
  const navigate = route.useNavigate()
  return useCallback(
    (search: (old: Search) => Search, replace = false): void => void navigate({ search, replace }),
    [navigate],
  )
}

export function useSelection(): Selection {
  const { step, tab, field } = route.useSearch()
  const change = useSearchChange()
  const moves = useMemo<Pick<Selection, 'select' | 'show' | 'leave'>>(
    () => ({
      select: (next, { replace = false, ...at } = {}) =>
        change(({ field: _field, ...rest }) => ({ ...rest, step: next, ...at }), replace),
      show: (next, at) =>
        change(
          ({ field: _field, ...rest }) => ({
            ...rest,
            tab: next,
            ...(at !== undefined && { field: at }),
          }),
          true,
        ),
      leave: () => change(({ step: _step, tab: _tab, field: _field, ...rest }) => rest),
    }),
    [change],
  )
  return { step, tab, field, ...moves }
}

export type ListName = 'steps' | 'events' | 'blame'

interface ShownList {
  readonly list: ListName
  readonly show: (list: ListName) => void
}

/** If there is only one column, the list replaces the step. */
export function useList(): ShownList {
  const { list = 'steps' } = route.useSearch()
  const change = useSearchChange()
  const isNarrow = useNarrow()
  const show = (next: ListName): void =>
    change(({ list: _list, event: _event, step, ...rest }) => ({
      ...rest,
      ...(next !== 'steps' && { list: next }),
      ...(step !== undefined && !isNarrow && { step }),
    }))
  return { list, show }
}

export interface Filtering {
  readonly filter: RowFilter
  /** Stored in the address, so going back undoes it. */
  readonly change: (fields: Partial<RowFilter>) => void
  readonly clear: () => void
}

export function useFilter(): Filtering {
  const search = route.useSearch()
  const changeSearch = useSearchChange()
  const key = JSON.stringify(searchOf(filterOf(search)))
  const filter = useMemo(() => filterOf(JSON.parse(key) as ReturnType<typeof searchOf>), [key])
  return {
    filter,
    change: (fields) =>
      changeSearch((old) => ({ ...old, ...searchOf({ ...filterOf(old), ...fields }) })),
    clear: () => changeSearch((old) => ({ ...old, ...searchOf({}) })),
  }
}

export function useShownRows(rows: RowStore, filter: RowFilter): FilteredRows {
  useRows(rows)
  return useMemo(() => new FilteredRows(rows, filter), [rows, filter]).update()
}
