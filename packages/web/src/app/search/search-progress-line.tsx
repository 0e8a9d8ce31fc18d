import { count, plural } from '@retake/tape/present'
import { Kbd } from '../design/kbd.js'
import { Progress } from '../design/progress.js'
import type { SearchState } from './search-store.js'

/** How far the search is, and whether there is more than is shown. */
export function SearchProgressLine({
  state,
  at,
}: {
  readonly state: SearchState
  readonly at: number
}) {
  const { query, hits, searched, total, isDone, isCut } = state
  const steps = new Set(hits.flatMap(({ step }) => step ?? [])).size
  return (
    <div className="shrink-0 border-t border-line bg-raised text-sm text-muted">
      {!isDone && <Progress label="Steps searched" value={searched ?? 0} max={total ?? 1} />}
      <div className="flex min-h-7 flex-wrap items-center gap-x-4 px-4 py-1">
        <output className="min-w-0 flex-1">
          {query === ''
            ? 'Case does not matter. Titles, messages, arguments, results, bodies, headers, errors, output and files are searched.'
            : [
                hits.length > 0 &&
                  `${count(at + 1)} of ${plural(hits.length, 'hit')} in ${plural(steps, 'step')}`,
                hits.length === 0 && isDone && 'Nothing was found.',
                isCut && 'There are more hits than are shown: ask more closely.',
                !isDone &&
                  total !== undefined &&
                  `searched ${count(searched ?? 0)} of ${plural(total, 'step')}`,
              ]
                .filter(Boolean)
                .join(' · ')}
        </output>
        {hits.length > 0 && (
          <span className="flex items-center gap-1.5 max-sm:hidden">
            <Kbd keys="Enter" /> open, then <Kbd keys="n" /> next and <Kbd keys="N" /> previous
          </span>
        )}
      </div>
    </div>
  )
}
