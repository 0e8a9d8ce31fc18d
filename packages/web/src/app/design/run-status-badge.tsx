import type { RunStatus } from '../../model/run-head.js'
import { Badge, type BadgeProps } from './badge.js'

const STATUSES: Readonly<Record<RunStatus, { tone: BadgeProps['tone']; title: string }>> = {
  done: { tone: 'good', title: 'It ended by itself, without an error.' },
  failed: { tone: 'danger', title: 'It ended with an error or an exit code other than 0.' },
  killed: { tone: 'warning', title: 'No end was recorded, or a signal ended it.' },
  recording: { tone: 'accent', title: 'It goes on; what is shown grows.' },
}

/** How a run stands. */
export function RunStatusBadge({ status }: { readonly status: RunStatus }) {
  const { tone, title } = STATUSES[status]
  return (
    <Badge tone={tone} title={title}>
      {status}
    </Badge>
  )
}
