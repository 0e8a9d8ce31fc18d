import { Link } from '@tanstack/react-router'
import { Button } from '../design/button.js'
import { buttonLook } from '../design/button-look.js'
import { DiffIcon } from '../design/icons.js'

export interface CompareBarProps {
  /** One or two, in the order they were chosen. */
  readonly chosen: readonly string[]
  readonly onClear: () => void
}

/** What can be done with the runs that were chosen. */
export function CompareBar({ chosen, onClear }: CompareBarProps) {
  const [a, b] = chosen
  if (a === undefined) return null
  return (
    <section
      aria-label="Compare"
      className="flex shrink-0 flex-wrap items-center gap-2 border-t border-line bg-raised px-3 py-1.5"
    >
      <span className="min-w-0 flex-1 truncate">
        <span className="font-mono text-sm">{a}</span>
        {b === undefined ? (
          <span className="text-muted"> is chosen; choose another one to compare it with.</span>
        ) : (
          <>
            <span className="text-muted"> and </span>
            <span className="font-mono text-sm">{b}</span>
          </>
        )}
      </span>
      <Button look="quiet" onClick={onClear}>
        Choose none
      </Button>
      {b !== undefined && (
        <Link to="/compare/$a/$b" params={{ a, b }} className={buttonLook('primary')}>
          <DiffIcon />
          Compare
        </Link>
      )}
    </section>
  )
}
