import { isSeen } from '../blame/role-shapes.js'
import { RoleName } from '../blame/role-mark.js'
import type { StepRole } from '@retake/tape'
import type { StepRow } from '@retake/tape/present'
import { Badge } from '../design/badge.js'
import { OriginBadge, StateBadge } from '../design/status-badges.js'

export interface RowBadgesProps {
  readonly row: StepRow
  /** What it had to do with the failure, where that was asked. */
  readonly role: StepRole | undefined
  readonly isBranch: boolean
}

/** How a step stands, what it had to do with a failure and, in a branch, where its answer came from. */
export function RowBadges({ row, role, isBranch }: RowBadgesProps) {
  return (
    <>
      {isSeen(role) && <RoleName role={role} />}
      <StateBadge state={row.state} />
      {row.inferred && (
        <Badge title="Seen in the conversation only: not recorded as a call of its own.">
          inferred
        </Badge>
      )}
      {isBranch && !row.inferred && <OriginBadge origin={row.origin} />}
    </>
  )
}
