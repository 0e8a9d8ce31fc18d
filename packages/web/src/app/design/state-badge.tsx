import type { RowState } from '../../model/step-rows.js'
import { Badge, type BadgeProps } from './badge.js'

const STATES: Readonly<Record<RowState, { tone: BadgeProps['tone']; title: string }>> = {
  done: { tone: 'good', title: 'Its answer is on the tape.' },
  failed: { tone: 'danger', title: 'It ended with an error.' },
  aborted: { tone: 'neutral', title: 'The agent gave it up before its answer came.' },
  'in doubt': {
    tone: 'warning',
    title: 'It left, and its answer is not on the tape: it may have had its effect.',
  },
  denied: {
    tone: 'warning',
    title: 'A guard kept it from starting, or from touching what it must not.',
  },
  running: { tone: 'accent', title: 'It was asked and has no answer yet; the run goes on.' },
}

export interface StateBadgeProps {
  readonly state: RowState
  /** Say it also of what simply went well. */
  readonly showsDone?: boolean
}

/** How a step ended. Nothing for a step that is simply done. */
export function StateBadge({ state, showsDone = false }: StateBadgeProps) {
  if (state === 'done' && !showsDone) return null
  const { tone, title } = STATES[state]
  return (
    <Badge tone={tone} title={title}>
      {state}
    </Badge>
  )
}
