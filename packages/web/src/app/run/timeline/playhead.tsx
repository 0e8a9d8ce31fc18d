/* oxlint-disable jsx-a11y/prefer-tag-over-role -- it stands where its step is drawn, which no input can */
import { clock, type StepRow } from '@retake/tape/present'

export interface PlayheadProps {
  readonly row: StepRow
  /** Counted from 1 among the shown steps, and how many there are. */
  readonly position: number
  readonly count: number
  /** Pixels from the left edge; undefined when it is not on the screen. */
  readonly x: number | undefined
  readonly onMove: (by: number | 'first' | 'last') => void
}

/** The handle of the line at the selected step. It is dragged on the axis; arrow keys move it, too. */
export function Playhead({ row, position, count, x, onMove }: PlayheadProps) {
  const press = (event: React.KeyboardEvent): void => {
    const by = {
      ArrowLeft: -1,
      ArrowDown: -1,
      ArrowRight: 1,
      ArrowUp: 1,
      PageDown: -10,
      PageUp: 10,
      Home: 'first',
      End: 'last',
    }[event.key] as number | 'first' | 'last' | undefined
    if (by === undefined) return
    event.preventDefault()
    event.stopPropagation()
    onMove(by)
  }
  return (
    <div
      role="slider"
      tabIndex={0}
      aria-label="Playhead"
      aria-valuemin={1}
      aria-valuemax={Math.max(1, count)}
      aria-valuenow={position}
      aria-valuetext={`step ${row.label}, ${row.title}, at ${clock(row.at)}`}
      onKeyDown={press}
      className="pointer-events-none absolute top-0 z-10 h-3.5 w-2.5 rounded-xs bg-accent"
      style={{ left: (x ?? 0) - 4.5, opacity: x === undefined ? 0 : 1 }}
    />
  )
}
