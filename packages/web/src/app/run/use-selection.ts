import { getRouteApi } from '@tanstack/react-router'
import { useCallback, useMemo, useSyncExternalStore } from 'react'
import { FilteredRows, NO_FILTER, type RowFilter } from './row-filter.js'
import type { RowStore } from './row-store.js'
import { Store } from '../store.js'
import { useRows } from './use-run.js'
import { KINDS, ORIGINS, STATES } from '@retake/tape/present'

/** The search parameters of a run: every step, tab, field and filter has an address. */
interface RunSearch {
  readonly step?: string
  readonly tab?: string
  /** Path of a field in the tab, for example `answer.0.text`. */
  readonly field?: string
  /** Filters: one value, or a list. */
  readonly kind?: string | readonly string[]
  readonly state?: string | readonly string[]
  readonly origin?: string | readonly string[]
  readonly lane?: number | readonly number[]
  readonly tool?: string | readonly string[]
  readonly model?: string | readonly string[]
  readonly cost?: number
  /** Milliseconds since the start. */
  readonly from?: number
  readonly to?: number
  /** The list beside the step; steps by default. */
  readonly list?: 'transcript' | 'events' | 'blame' | 'fix'
  readonly event?: number
  /** Filter of the events. */
  readonly find?: string
}

/** Invalid parts are ignored. */
export function readRunSearch(search: Record<string, unknown>): RunSearch {
  const entries = Object.entries(READERS).map(([name, read]) => [name, read(search[name])])
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as RunSearch
}

export const filterOf = (search: RunSearch): RowFilter => ({
  kinds: KINDS.filter((kind) => listOf(search.kind).includes(kind)),
  states: STATES.filter((state) => listOf(search.state).includes(state)),
  badges: ORIGINS.filter((badge) => listOf(search.origin).includes(badge)),
  lanes: listOf(search.lane),
  tools: listOf(search.tool),
  models: listOf(search.model),
  costMin: search.cost,
  from: search.from,
  to: search.to,
})

/** Parameters that are not set are undefined. */
export const searchOf = (filter: Partial<RowFilter>): RunSearch => {
  const { kinds, states, badges, lanes, tools, models, costMin, from, to } = {
    ...NO_FILTER,
    ...filter,
  }
  return {
    kind: shortOf(kinds),
    state: shortOf(states),
    origin: shortOf(badges),
    lane: shortOf(lanes),
    tool: shortOf(tools),
    model: shortOf(models),
    cost: costMin,
    from,
    to,
  }
}

type Reader = (value: unknown) => unknown

const text: Reader = (value) =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : undefined

const number: Reader = (value) => {
  const read = typeof value === 'string' && value !== '' ? Number(value) : value
  return typeof read === 'number' && Number.isFinite(read) && read >= 0 ? read : undefined
}

const some =
  (read: Reader, allowed?: readonly unknown[]): Reader =>
  (value) => {
    const list = (Array.isArray(value) ? value : [value])
      .map(read)
      .filter((one) => one !== undefined && (allowed === undefined || allowed.includes(one)))
    return shortOf([...new Set(list)])
  }

const LISTS: readonly unknown[] = ['transcript', 'events', 'blame', 'fix']

const READERS: Record<keyof RunSearch, Reader> = {
  step: text,
  tab: text,
  field: text,
  kind: some(text, KINDS),
  state: some(text, STATES),
  origin: some(text, ORIGINS),
  lane: some(number),
  tool: some(text),
  model: some(text),
  cost: number,
  from: number,
  to: number,
  list: (value) => (LISTS.includes(value) ? value : undefined),
  event: number,
  find: text,
}

const listOf = <T>(value: T | readonly T[] | undefined): readonly T[] =>
  value === undefined ? [] : Array.isArray(value) ? (value as readonly T[]) : [value as T]

const shortOf = <T>(list: readonly T[]): T | readonly T[] | undefined =>
  list.length > 1 ? list : list[0]

const query = typeof matchMedia === 'function' ? matchMedia('(max-width: 640px)') : undefined

const subscribe = (listener: () => void): (() => void) => {
  query?.addEventListener('change', listener)
  return () => query?.removeEventListener('change', listener)
}

export const useNarrow = (): boolean =>
  useSyncExternalStore(subscribe, () => query?.matches ?? false)

export const route = getRouteApi('/runs/$run')

/** The selected step, tab and field. Stored in the address, so it can be linked and undone. */
interface Selection {
  readonly step: string | undefined
  readonly tab: string | undefined
  readonly field: string | undefined
  /**
   * `replace` for moves that are not separate history entries, such as moves by keys. `follows`:
   * not chosen by the user.
   */
  readonly select: (
    step: string,
    options?: { tab?: string; field?: string; replace?: boolean; follows?: boolean },
  ) => void
  readonly show: (tab: string, field?: string) => void
  readonly leave: () => void
}

/** Id of the run whose newest step is selected while it grows, until the user selects a step. */
export const followedRun = new Store<string | undefined>(undefined)

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
      select: (next, { replace = false, follows = false, ...at } = {}) => {
        if (!follows) followedRun.set(undefined)
        change(({ field: _field, ...rest }) => ({ ...rest, step: next, ...at }), replace)
      },
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

export type ListName = 'steps' | 'transcript' | 'events' | 'blame' | 'fix'

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
    change(({ list: _list, event: _event, find: _find, step, ...rest }) => ({
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
