import { getRouteApi } from '@tanstack/react-router'
import { useCallback, useMemo, useSyncExternalStore } from 'react'
import { FilteredRows, type RowFilter } from './row-filter.js'
import type { RowStore } from './row-store.js'
import { Store } from '../../design/store.js'
import { useRows } from './use-run.js'
import { KINDS, ORIGINS, STATES } from '@retake/tape/present'

const LISTS = ['transcript', 'events', 'blame', 'fix'] as const

/** The search parameters of a run page. Every step, tab, field and filter has an address. */
interface RunSearch extends RowFilter {
  readonly step?: string
  readonly tab?: string
  /** Path of a field in the tab, for example `answer.0.text`. */
  readonly field?: string
  readonly list?: (typeof LISTS)[number]
  readonly event?: number
  readonly find?: string
}

/** Invalid parts are ignored. */
export function readRunSearch(search: Record<string, unknown>): RunSearch {
  const entries = Object.entries({ ...FILTER, ...OTHERS }).map(([name, read]) => [
    name,
    read(search[name]),
  ])
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as RunSearch
}

const filterOf = (search: RunSearch): RowFilter =>
  Object.fromEntries(Object.keys(FILTER).map((name) => [name, search[name as keyof RowFilter]]))

type Reader = (value: unknown) => unknown

const text: Reader = (value) =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : undefined

const number: Reader = (value) => {
  const read = typeof value === 'string' && value !== '' ? Number(value) : value
  return typeof read === 'number' && Number.isFinite(read) && read >= 0 ? read : undefined
}

/** Reads a value or a list; undefined if it is empty. */
const some =
  (read: Reader, allowed?: readonly unknown[]): Reader =>
  (value) => {
    const list = (Array.isArray(value) ? value : [value])
      .map(read)
      .filter((one) => one !== undefined && (allowed === undefined || allowed.includes(one)))
    return list.length === 0 ? undefined : [...new Set(list)]
  }

const FILTER: Record<keyof RowFilter, Reader> = {
  kind: some(text, KINDS),
  state: some(text, STATES),
  origin: some(text, ORIGINS),
  lane: some(number),
  tool: some(text),
  model: some(text),
  cost: number,
  from: number,
  to: number,
}

const OTHERS: Record<Exclude<keyof RunSearch, keyof RowFilter>, Reader> = {
  step: text,
  tab: text,
  field: text,
  list: (value) => LISTS.find((list) => list === value),
  event: number,
  find: text,
}

const query = typeof matchMedia === 'function' ? matchMedia('(max-width: 640px)') : undefined

const subscribe = (listener: () => void): (() => void) => {
  query?.addEventListener('change', listener)
  return () => query?.removeEventListener('change', listener)
}

export const useNarrow = (): boolean =>
  useSyncExternalStore(subscribe, () => query?.matches ?? false)

export const route = getRouteApi('/runs/$run')

/** Id of the run whose newest step is selected while it grows, until the user selects a step. */
export const followedRun = new Store<string | undefined>(undefined)

type Search = RunSearch & { readonly q?: string }

export function useSearchChange() {
  const navigate = route.useNavigate()
  return useCallback(
    (search: (old: Search) => Search, replace = false): void => void navigate({ search, replace }),
    [navigate],
  )
}

interface SelectOptions {
  readonly tab?: string
  readonly field?: string
  /** Replaces the history entry, for moves such as those by keys. */
  readonly replace?: boolean
  /** True if the user did not choose the step. */
  readonly follows?: boolean
}

/** The selected step, tab and field, which are stored in the address. */
export function useSelection() {
  const { step, tab, field } = route.useSearch()
  const change = useSearchChange()
  const moves = useMemo(
    () => ({
      select: (next: string, { replace = false, follows = false, ...at }: SelectOptions = {}) => {
        if (!follows) followedRun.set(undefined)
        change((old) => ({ ...old, field: undefined, step: next, ...at }), replace)
      },
      show: (next: string, at?: string) =>
        change((old) => ({ ...old, tab: next, field: at }), true),
      leave: () => change((old) => ({ ...old, step: undefined, tab: undefined, field: undefined })),
    }),
    [change],
  )
  return { step, tab, field, ...moves }
}

type ListName = 'steps' | (typeof LISTS)[number]

/** On narrow screens, the list replaces the step. */
export function useList(): { list: ListName; show: (list: ListName) => void } {
  const { list = 'steps' } = route.useSearch()
  const change = useSearchChange()
  const isNarrow = useNarrow()
  const show = (next: ListName): void =>
    change(({ event: _event, find: _find, step, ...rest }) => ({
      ...rest,
      list: next === 'steps' ? undefined : next,
      step: isNarrow ? undefined : step,
    }))
  return { list, show }
}

export interface Filtering {
  readonly filter: RowFilter
  /** Stored in the address, so that going back undoes it. */
  readonly change: (fields: RowFilter) => void
  readonly clear: () => void
}

export function useFilter(): Filtering {
  const search = route.useSearch()
  const change = useSearchChange()
  const key = JSON.stringify(filterOf(search))
  const filter = useMemo(() => JSON.parse(key) as RowFilter, [key])
  return {
    filter,
    change: (fields) => change((old) => ({ ...old, ...fields })),
    clear: () => change((old) => ({ ...old, ...filterOf({}) })),
  }
}

export function useShownRows(rows: RowStore, filter: RowFilter): FilteredRows {
  useRows(rows)
  return useMemo(() => new FilteredRows(rows, filter), [rows, filter]).update()
}
