import type { ForkDraft } from './fork-draft.js'

export interface CostNoteProps {
  /** Steps that come from the tape. */
  readonly served: number
  readonly tail: ForkDraft['tail']
}

/** What a fork serves from the tape, and what it really asks. */
export function CostNote({ served, tail }: CostNoteProps) {
  const free = served === 1 ? '1 step is' : `${served} steps are`
  return (
    <p className="text-sm text-muted">
      {served > 0 && `${free} served from the tape and cost nothing. `}
      {tail === 'offline'
        ? 'What follows is served too where the request is identical; where it is not, the branch stops. Nothing is paid. '
        : 'What follows is live: the program runs with your real keys, model calls are paid for, and tools do what they do. '}
      Files are written beside the branch, and the recorded run stays as it is.
    </p>
  )
}
