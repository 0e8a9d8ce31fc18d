import type { ReactNode } from 'react'
import { Button } from '../../design/button.js'
import { classes } from '../../design/classes.js'
import { OVERLAYS, type Overlay } from './overlay.js'

export interface TimelineBarProps {
  readonly isFolded: boolean
  readonly onFold: () => void
  readonly overlay: Overlay
  readonly onOverlay: (overlay: Overlay) => void
  readonly onZoom: (factor: number) => void
  readonly onFit: () => void
  readonly isWhole: boolean
  /** What it came to where the playhead is. */
  readonly sums: string | undefined
  /** What the forms below the lanes mean. */
  readonly legend: ReactNode
}

/** What can be done with the timeline, above it. */
export function TimelineBar(props: TimelineBarProps) {
  const { isFolded, overlay } = props
  return (
    <div className="flex h-7 shrink-0 items-center gap-2 border-b border-line bg-raised px-2 text-sm">
      <Button
        look="quiet"
        className="h-6 px-1.5 text-sm"
        aria-expanded={!isFolded}
        title="Fold or unfold the timeline (t)"
        onClick={props.onFold}
      >
        <span aria-hidden="true" className="font-mono">
          {isFolded ? '▸' : '▾'}
        </span>
        Timeline
      </Button>
      {!isFolded && (
        <>
          <fieldset className="flex items-center gap-0.5 max-sm:hidden">
            <legend className="sr-only">Figure under the timeline</legend>
            {OVERLAYS.map((each) => (
              <label
                key={each}
                className={classes(
                  'flex h-5 cursor-default items-center rounded px-1.5 focus-within:outline-2 focus-within:outline-accent',
                  each === overlay ? 'bg-accent-soft text-accent' : 'text-muted hover:text-text',
                )}
              >
                <input
                  type="radio"
                  name="overlay"
                  className="sr-only"
                  checked={each === overlay}
                  onChange={() => props.onOverlay(each)}
                />
                {each === 'none' ? 'no figure' : each}
              </label>
            ))}
          </fieldset>
          {props.legend}
          <span className="min-w-0 flex-1 truncate text-right text-muted">{props.sums}</span>
          <span className="flex items-center">
            <ZoomButton
              label="Zoom out"
              text="−"
              isOff={props.isWhole}
              onClick={() => props.onZoom(0.5)}
            />
            <ZoomButton label="Zoom in" text="+" isOff={false} onClick={() => props.onZoom(2)} />
            <ZoomButton
              label="Show all of it"
              text="all"
              isOff={props.isWhole}
              onClick={props.onFit}
            />
          </span>
        </>
      )}
    </div>
  )
}

interface ZoomButtonProps {
  readonly label: string
  readonly text: string
  readonly isOff: boolean
  readonly onClick: () => void
}

const ZoomButton = ({ label, text, isOff, onClick }: ZoomButtonProps) => (
  <Button
    look="quiet"
    className="h-5 px-1.5 text-sm"
    aria-label={label}
    title={label}
    disabled={isOff}
    onClick={onClick}
  >
    {text}
  </Button>
)
