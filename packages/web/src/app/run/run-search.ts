import { KINDS, ORIGINS, STATES } from '@retake/tape/present'
import { NO_FILTER, type RowFilter } from './row-filter.js'

/** The search parameters of a run: every step, tab, field and filter has an address. */
export interface RunSearch {
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
  readonly list?: 'events' | 'blame'
  readonly event?: number
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
  list: (value) => (value === 'events' || value === 'blame' ? value : undefined),
  event: number,
}

const listOf = <T>(value: T | readonly T[] | undefined): readonly T[] =>
  value === undefined ? [] : Array.isArray(value) ? (value as readonly T[]) : [value as T]

const shortOf = <T>(list: readonly T[]): T | readonly T[] | undefined =>
  list.length > 1 ? list : list[0]
