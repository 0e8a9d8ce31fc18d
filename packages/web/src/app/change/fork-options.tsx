import { useId } from 'react'
import type { ForkDraft } from './fork-draft.js'

export interface ForkOptionsProps {
  readonly draft: ForkDraft
  readonly onChange: (change: Partial<ForkDraft>) => void
  /** The step was answered by a server, with a status. */
  readonly hasStatus: boolean
  /** Offered only once an answer was refused. */
  readonly canForce: boolean
}

const FIELD = 'h-7 rounded border border-line-strong bg-surface px-2'

/** How the branch goes on, and what it is called. */
export function ForkOptions({ draft, onChange, hasStatus, canForce }: ForkOptionsProps) {
  const id = useId()
  return (
    <div className="flex flex-wrap items-end gap-x-4 gap-y-2">
      <div>
        <label htmlFor={`${id}-tail`} className="block text-sm text-muted">
          What follows
        </label>
        <select
          id={`${id}-tail`}
          className={FIELD}
          value={draft.tail}
          onChange={(event) => onChange({ tail: event.target.value as ForkDraft['tail'] })}
        >
          <option value="live">live</option>
          <option value="offline">offline, from this tape</option>
        </select>
      </div>
      <div>
        <label htmlFor={`${id}-name`} className="block text-sm text-muted">
          Name of the branch
        </label>
        <input
          id={`${id}-name`}
          className={FIELD}
          value={draft.name}
          placeholder="like its parent"
          onChange={(event) => onChange({ name: event.target.value })}
        />
      </div>
      {hasStatus && (
        <div>
          <label htmlFor={`${id}-status`} className="block text-sm text-muted">
            HTTP status
          </label>
          <input
            id={`${id}-status`}
            className={`${FIELD} w-28`}
            inputMode="numeric"
            value={draft.status}
            placeholder="as recorded"
            onChange={(event) => onChange({ status: event.target.value.trim() })}
          />
        </div>
      )}
      {canForce && (
        <label className="flex h-7 items-center gap-1.5">
          <input
            type="checkbox"
            className="accent-accent"
            checked={draft.force}
            onChange={(event) => onChange({ force: event.target.checked })}
          />
          Give it anyway: see how the agent takes an invalid answer
        </label>
      )}
    </div>
  )
}
