import { KINDS, ORIGINS, STATES } from '@retake/tape/present'
import { NO_FILTER, type RowFilter } from './row-filter.js'

/** What a link to a run holds besides its id: every step, tab, field and filter has an address. */
export interface RunSearch {
  /** Label of the step that is looked at. */
  readonly step?: string
  readonly tab?: string
  /** Path of a field in the tab, for example `answer.0.text`. */
  readonly field?: string
  /** Filters; one value stands alone, several as a list. */
  readonly kind?: string | readonly string[]
  readonly state?: string | readonly string[]
  readonly origin?: string | readonly string[]
  readonly lane?: number | readonly number[]
  readonly tool?: string | readonly string[]
  readonly model?: string | readonly string[]
  /** Dollars that a step cost at least. */
  readonly cost?: number
  /** Milliseconds since the start. */
  readonly from?: number
  readonly to?: number
  /** Beside the step stand the events of the tape, or what blame found, instead of the steps. */
  readonly list?: 'events' | 'blame'
  /** Number of the event that is looked at. */
  readonly event?: number
}

/** Reads an address; what makes no sense in it is left out. */
export function readRunSearch(search: Record<string, unknown>): RunSearch {
  const entries = Object.entries(READERS).map(([name, read]) => [name, read(search[name])])
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as RunSearch
}

/** The filter that an address asks for. */
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

/** The part of an address that asks for a filter; what it does not ask for is undefined. */
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
