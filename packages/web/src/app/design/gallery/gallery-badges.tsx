import { RoleName } from '../../blame/role-mark.js'
import { ROLES } from '../../../model/read-run-blame.js'
import { BADGES, KINDS, STATES } from '../../../model/step-rows.js'
import { Badge } from '../badge.js'
import { KIND_NAMES, KindMark } from '../kind-mark.js'
import { OriginBadge } from '../origin-badge.js'
import { RunStatusBadge } from '../run-status-badge.js'
import { StateBadge } from '../state-badge.js'
import { Specimen } from './specimen.js'

const TONES = ['neutral', 'accent', 'good', 'warning', 'danger'] as const
const STATUSES = ['done', 'failed', 'killed', 'recording'] as const

/** Short facts about steps and runs. */
export function GalleryBadges() {
  return (
    <>
      <Specimen title="Badge">
        {TONES.map((tone) => (
          <Badge key={tone} tone={tone}>
            {tone}
          </Badge>
        ))}
      </Specimen>
      <Specimen title="StateBadge">
        {STATES.map((state) => (
          <StateBadge key={state} state={state} showsDone />
        ))}
      </Specimen>
      <Specimen title="OriginBadge">
        {BADGES.map((origin) => (
          <OriginBadge key={origin} origin={origin} />
        ))}
      </Specimen>
      <Specimen title="RunStatusBadge">
        {STATUSES.map((status) => (
          <RunStatusBadge key={status} status={status} />
        ))}
      </Specimen>
      <Specimen title="RoleName">
        {ROLES.map((role) => (
          <RoleName key={role} role={role} />
        ))}
      </Specimen>
      <Specimen title="KindMark">
        {KINDS.map((kind) => (
          <span key={kind} className="inline-flex items-center gap-1.5">
            <KindMark kind={kind} isDecorative />
            {KIND_NAMES[kind]}
          </span>
        ))}
      </Specimen>
    </>
  )
}
