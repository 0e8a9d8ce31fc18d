import type { RunSource, SearchHit } from '../../model/run-source.js'
import { Store } from '../design/store.js'
import { tabOfField } from '../values/field-path.js'

export interface SearchState {
  readonly query: string
  readonly hits: readonly SearchHit[]
  /** Undefined before the first response. */
  readonly searched: number | undefined
  readonly total: number | undefined
  readonly isDone: boolean
  readonly isCut: boolean
  readonly error: unknown
  /** Index of the last opened hit; -1 before the first. */
  readonly at: number
}

export const NO_SEARCH: SearchState = {
  query: '',
  hits: [],
  searched: undefined,
  total: undefined,
  isDone: true,
  isCut: false,
  error: undefined,
  at: -1,
}

const PAUSE_MS = 60

/** The search in the open run. A new search cancels the previous one. */
export class SearchStore extends Store<SearchState> {
  #giveUp: AbortController | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  clear(): void {
    this.#giveUp?.abort()
    this.set(NO_SEARCH)
  }

  goTo(at: number): void {
    this.set({ ...this.get(), at })
  }

  async start(source: RunSource, query: string): Promise<void> {
    this.#giveUp?.abort()
    const giveUp = new AbortController()
    this.#giveUp = giveUp
    this.set({ ...NO_SEARCH, query, isDone: false })
    const hits: SearchHit[] = []
    let last: Partial<SearchState> = {}
    const take = (): void => {
      if (giveUp.signal.aborted) return
      this.set({ ...this.get(), ...last, hits: hits.slice() })
    }
    try {
      for await (const { hits: more, searched, total, done, cut } of source.search(
        query,
        giveUp.signal,
      )) {
        if (giveUp.signal.aborted) return
        hits.push(...more)
        last = { searched, total, isDone: done, isCut: cut }
        this.#timer ??= setTimeout(take, PAUSE_MS)
      }
      last = { ...last, isDone: true }
    } catch (error) {
      last = { ...last, isDone: true, error }
    }
    take()
  }

  override set(state: SearchState): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    super.set(state)
  }
}

export const searchStore = new SearchStore(NO_SEARCH)

/** A hit without a field, such as the error that ended a run, has no location. */
export function locationOfHit({ field, path, seq }: SearchHit): { tab?: string; field?: string } {
  const whole = field === 'console' || field === 'file' ? `${field}.${seq}` : path
  if (whole === '') return {}
  const tab = tabOfField(whole)
  return { field: whole, ...(tab !== undefined && { tab }) }
}

export function readSearchQuery({ q }: Record<string, unknown>): { readonly q?: string } {
  const text = typeof q === 'number' || typeof q === 'boolean' ? String(q) : q
  return typeof text === 'string' && text !== '' ? { q: text } : {}
}
