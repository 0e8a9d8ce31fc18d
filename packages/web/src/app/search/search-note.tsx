import { count } from '@retake/tape/present'
import { Kbd } from '../design/kbd.js'
import { useSearchState } from './use-search.js'

/** In the line at the bottom: which hit of a search is looked at. */
export function SearchNote() {
  const { query, hits, at } = useSearchState()
  if (query === '' || at < 0) return null
  return (
    <span className="flex items-center gap-1.5">
      <span className="max-w-40 truncate">“{query}”</span>
      {count(at + 1)} of {count(hits.length)}
      <span className="flex gap-1 max-sm:hidden">
        <Kbd keys="n" />
        <Kbd keys="N" />
      </span>
    </span>
  )
}
