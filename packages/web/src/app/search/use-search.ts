import { getRouteApi } from '@tanstack/react-router'
import { useEffect, useMemo, useSyncExternalStore } from 'react'
import type { SearchHit } from '../../model/run-parts.js'
import { useOpenRun } from '../shell/open-run.js'
import { useHome } from '../sources/viewer-home.js'
import { placeOfHit } from './place-of-hit.js'
import { searchStore, type SearchState } from './search-store.js'

const route = getRouteApi('/runs/$run')

export const useSearchState = (): SearchState =>
  useSyncExternalStore(searchStore.subscribe, searchStore.get)

/** Searches for what stands in the address, and goes to what is found. */
export function useSearch() {
  const { run: id } = route.useParams()
  const { q = '' } = route.useSearch()
  const navigate = route.useNavigate()
  const home = useHome()
  const open = useOpenRun()
  const known = open?.id === id ? open : undefined
  const fallback = useMemo(() => home.run(id), [home, id])
  const source = known?.source ?? fallback

  useEffect(() => {
    if (q === '') searchStore.clear()
    else void searchStore.start(source, q)
    // One search is enough when the run becomes known while it goes on: both sources tell the same.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [id, q])
  useEffect(() => () => searchStore.clear(), [])

  const ask = (text: string): void =>
    void navigate({
      search: ({ q: _old, ...rest }) => ({ ...rest, ...(text !== '' && { q: text }) }),
      replace: true,
    })

  const go = (at: number): void => {
    const hit = searchStore.get().hits[at]
    if (hit === undefined) return
    searchStore.goTo(at)
    const step = hit.step ?? stepBefore(hit)
    void navigate({
      search: ({ field: _field, tab, ...rest }) => ({
        ...rest,
        ...(step !== undefined && { step }),
        tab,
        ...placeOfHit(hit),
      }),
    })
  }

  /** What belongs to no step is looked at from the last step begun by then. */
  const stepBefore = ({ seq }: SearchHit): string | undefined => {
    const rows = known?.rows
    if (rows === undefined) return undefined
    for (let place = rows.length - 1; place >= 0; place--) {
      const row = rows.at(place)
      if (!row.inferred && row.seq <= seq) return row.label
    }
    return rows.length > 0 ? rows.at(0).label : undefined
  }

  return { q, ask, go, rows: known?.rows }
}
