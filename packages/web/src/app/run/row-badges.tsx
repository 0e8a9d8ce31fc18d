import type { Row } from '../../model/step-rows.js'
import { Badge } from '../design/badge.js'
import { OriginBadge } from '../design/origin-badge.js'
import { StateBadge } from '../design/state-badge.js'

/** How a step stands and, in a branch, where its answer came from. */
export function RowBadges({ row, isBranch }: { readonly row: Row; readonly isBranch: boolean }) {
  return (
    <>
      <StateBadge state={row.state} />
      {row.inferred && (
        <Badge title="Seen in the conversation only: not recorded as a call of its own.">
          inferred
        </Badge>
      )}
      {isBranch && !row.inferred && <OriginBadge origin={row.badge} />}
    </>
  )
}
