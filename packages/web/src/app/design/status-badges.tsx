import {
  ORIGIN_WORDS,
  RUN_STATUS_WORDS,
  STATE_WORDS,
  type RowOrigin,
  type RowState,
  type RunStatus,
} from '@retake/tape/present'
import { Badge } from './badge.js'

export const RunStatusBadge = ({ status }: { readonly status: RunStatus }) => (
  <Badge {...RUN_STATUS_WORDS[status]}>{status}</Badge>
)

export interface StateBadgeProps {
  readonly state: RowState
  /** Show `done` too. */
  readonly showsDone?: boolean
}

/** The outcome of a step; nothing for a step that is simply done. */
export const StateBadge = ({ state, showsDone = false }: StateBadgeProps) =>
  state === 'done' && !showsDone ? null : <Badge {...STATE_WORDS[state]}>{state}</Badge>

/** Where the answer of a step came from. */
export const OriginBadge = ({ origin }: { readonly origin: RowOrigin }) => (
  <Badge {...ORIGIN_WORDS[origin]}>{origin}</Badge>
)
