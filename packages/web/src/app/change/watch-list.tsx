import { IconButton } from '../design/icon-button.js'
import { CloseIcon } from '../design/icons.js'
import { EvaluatedValue } from './evaluated-value.js'
import type { Evaluated, StandingStore } from './standing.js'

export interface WatchListProps {
  readonly store: StandingStore
  readonly watched: readonly Evaluated[]
}

/** Expressions that are evaluated again after every move. */
export function WatchList({ store, watched }: WatchListProps) {
  if (watched.length === 0) return null
  return (
    <section aria-label="Watched">
      <h3 className="text-sm text-muted">Watched</h3>
      <ul>
        {watched.map((each) => (
          <li key={each.id} className="flex items-start gap-2 border-b border-line py-0.5">
            <div className="min-w-0 flex-1">
              <EvaluatedValue evaluated={each} />
            </div>
            <IconButton
              label={`Stop watching ${each.expression}`}
              icon={<CloseIcon />}
              onClick={() => store.unwatch(each.id)}
            />
          </li>
        ))}
      </ul>
    </section>
  )
}
