import type { Badge as Origin } from '../../model/step-rows.js'
import { Badge, type BadgeProps } from './badge.js'

const ORIGINS: Readonly<Record<Origin, { tone: BadgeProps['tone']; title: string }>> = {
  live: { tone: 'good', title: 'Really asked, and recorded.' },
  served: {
    tone: 'neutral',
    title: 'Answered from the tape of an earlier run; nothing was asked.',
  },
  edited: { tone: 'accent', title: 'The fork put this answer or question here.' },
  lost: {
    tone: 'warning',
    title: 'It was under way when the run went live; its recorded answer was not used.',
  },
  're-executed': { tone: 'neutral', title: 'No answer from outside: the code ran again.' },
}

/** Where the answer of a step came from. */
export function OriginBadge({ origin }: { readonly origin: Origin }) {
  const { tone, title } = ORIGINS[origin]
  return (
    <Badge tone={tone} title={title}>
      {origin}
    </Badge>
  )
}
