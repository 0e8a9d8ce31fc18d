import type { Explained } from '../../model/run-head.js'
import { Checkbox } from '../design/checkbox.js'
import { ErrorNote } from '../design/error-note.js'
import type { ForkDraft } from './fork-draft.js'

/** The server refused an answer that this provider never gives; it can be insisted on. */
const REFUSED = 'EDIT_INVALID_ANSWER'

export interface ForkRefusalProps {
  readonly error: Explained | undefined
  readonly draft: ForkDraft
  readonly onChange: (change: Partial<ForkDraft>) => void
}

/** What the server said. Only an answer that it refused can be insisted on, and only then. */
export function ForkRefusal({ error, draft, onChange }: ForkRefusalProps) {
  const force = (
    <Checkbox
      label="Give it this answer anyway, to see how the agent takes it"
      isChecked={draft.force}
      onChange={(isChecked) => onChange({ force: isChecked })}
    />
  )
  if (error === undefined) return draft.force ? force : null
  return <ErrorNote error={error} actions={error.code === REFUSED ? force : undefined} />
}
