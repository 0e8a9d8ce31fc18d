import type { ReactNode } from 'react'
import { count } from '@retake/tape/present'
import { classes } from '../design/classes.js'
import type { ListName } from './use-list.js'

export interface ListModeProps {
  readonly list: ListName
  readonly steps: number
  readonly events: number
  /** Stands beside the name of blame: what it found, in a sign. */
  readonly blame: ReactNode
  readonly onShow: (list: ListName) => void
}

const KEYS = { steps: 'e', events: 'e', blame: 'w' } as const

/** Whether steps stand beside the step that is looked at, every event of the tape, or what blame found. */
export function ListMode({ list, steps, events, blame, onShow }: ListModeProps) {
  const option = (value: ListName, name: string, detail: ReactNode) => (
    <button
      type="button"
      aria-pressed={list === value}
      title={
        list === value
          ? undefined
          : value === 'blame'
            ? `Which steps caused the failure (${KEYS[value]})`
            : `List ${value} (${KEYS[value]})`
      }
      className={classes(
        'inline-flex h-6 items-center gap-1 rounded px-1.5 whitespace-nowrap',
        list === value ? 'bg-sunken text-text' : 'text-muted hover:text-text',
      )}
      onClick={list === value ? undefined : () => onShow(value)}
    >
      {name} {detail}
    </button>
  )
  return (
    // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- no fields, but a choice
    <div role="group" aria-label="What the list shows" className="flex shrink-0">
      {option('steps', 'Steps', <span className="font-mono">{count(steps)}</span>)}
      {option('events', 'Events', <span className="font-mono">{count(events)}</span>)}
      {option('blame', 'Blame', blame)}
    </div>
  )
}
