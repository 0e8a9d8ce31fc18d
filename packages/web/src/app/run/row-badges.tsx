import type { Row } from '../../model/step-rows.js'
import { Badge, type BadgeProps } from '../design/badge.js'

type Look = readonly [tone: NonNullable<BadgeProps['tone']>, title: string]

const STATES: Partial<Record<Row['state'], Look>> = {
  failed: ['danger', 'it came back with an error'],
  aborted: ['warning', 'the agent gave it up before it was answered'],
  'in doubt': ['warning', 'it left, and its answer is not on the tape: it may have had its effect'],
  running: ['accent', 'no answer yet'],
}

const ORIGINS: Record<Row['badge'], Look> = {
  live: ['good', 'really asked, and recorded'],
  served: ['neutral', 'answered from the tape of the parent'],
  edited: ['accent', 'the fork put this answer here'],
  lost: ['warning', 'it was under way when the run went live'],
  're-executed': ['neutral', 'no answer from outside: the code ran again'],
}

/** How a step stands and, in a branch, where its answer came from. */
export function RowBadges({ row, isBranch }: { readonly row: Row; readonly isBranch: boolean }) {
  const state = STATES[row.state]
  const [tone, title] = ORIGINS[row.badge]
  return (
    <>
      {state !== undefined && (
        <Badge tone={state[0]} title={state[1]}>
          {row.state}
        </Badge>
      )}
      {row.inferred && (
        <Badge title="seen in the conversation only: not recorded as a call of its own">
          inferred
        </Badge>
      )}
      {isBranch && !row.inferred && (
        <Badge tone={tone} title={title}>
          {row.badge}
        </Badge>
      )}
    </>
  )
}
