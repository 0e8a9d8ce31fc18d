import { Badge } from '../design/badge.js'
import { IconButton } from '../design/icon-button.js'
import { ChevronDownIcon, ChevronUpIcon, CloseIcon } from '../design/icons.js'
import { standingOf, type Standing } from './standing.js'
import type { LiveRunActionsProps } from './live-run-actions.js'
import { standingText } from './standing-text.js'

/** Where the program is held now, with the moves; nothing while none is. */
export function StandingNote({
  run,
  live,
  standing,
}: LiveRunActionsProps & { readonly standing: Standing }) {
  if (standing.phase === 'closed') return null
  const store = standingOf(run.id, live)
  const isBusy = standing.phase !== 'standing'
  return (
    <span className="flex items-center">
      <output className="mr-1">
        <Badge tone="accent">{standingText(standing)}</Badge>
      </output>
      <IconButton
        label="Step back with the program"
        keys="Shift+F10"
        icon={<ChevronUpIcon />}
        disabled={isBusy}
        onClick={() => void store.move({ to: 'back' })}
      />
      <IconButton
        label="Step forward with the program"
        keys="F10"
        icon={<ChevronDownIcon />}
        disabled={isBusy}
        onClick={() => void store.move({ to: 'next' })}
      />
      <IconButton
        label="Let go of the program"
        icon={<CloseIcon />}
        onClick={() => store.close()}
      />
    </span>
  )
}
