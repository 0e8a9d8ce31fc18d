import { classes } from '../design/classes.js'
import { count } from '../design/figures.js'

export interface ListModeProps {
  readonly isEvents: boolean
  readonly steps: number
  readonly events: number
  readonly onToggle: () => void
}

/** Whether the list shows steps or every event of the tape. */
export function ListMode({ isEvents, steps, events, onToggle }: ListModeProps) {
  const option = (name: string, amount: number, isOn: boolean) => (
    <button
      type="button"
      aria-pressed={isOn}
      title={isOn ? undefined : `List ${name.toLowerCase()} (e)`}
      className={classes(
        'inline-flex h-6 items-center gap-1 rounded px-1.5 whitespace-nowrap',
        isOn ? 'bg-sunken text-text' : 'text-muted hover:text-text',
      )}
      onClick={isOn ? undefined : onToggle}
    >
      {name} <span className="font-mono">{count(amount)}</span>
    </button>
  )
  return (
    // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- no fields, but a choice
    <div role="group" aria-label="What the list shows" className="flex shrink-0">
      {option('Steps', steps, !isEvents)}
      {option('Events', events, isEvents)}
    </div>
  )
}
