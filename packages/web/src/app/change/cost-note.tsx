import type { ForkDraft } from './fork-draft.js'

export interface CostNoteProps {
  /** Steps that come from the tape, apart from this one. */
  readonly served: number
  /** This step gets an answer that was written here. */
  readonly givesAnswer: boolean
  readonly tail: ForkDraft['tail']
}

/** What a fork serves from the tape, and what it really asks. */
export function CostNote({ served, givesAnswer, tail }: CostNoteProps) {
  const others = served === 1 ? '1 step that was' : `${served} steps that were`
  return (
    <p className="text-sm text-muted">
      {served > 0 &&
        `${others} answered by then, and requests under way: served from the tape, at no cost. `}
      {givesAnswer
        ? 'This step: answered with what you write, at no cost. '
        : 'This step: asked, live. '}
      {tail === 'offline'
        ? 'What follows: served too where the request is identical; where it is not, the branch stops. '
        : 'What follows: live, with your real keys; model calls are paid for, and tools do what they do. '}
      Files are written beside the branch, and the recorded run stays as it is.
    </p>
  )
}
