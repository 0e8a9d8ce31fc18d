/* oxlint-disable jsx-a11y/no-noninteractive-element-interactions, jsx-a11y/prefer-tag-over-role, jsx-a11y/no-noninteractive-tabindex -- a separator that can be focused is a control */
import { classes } from '../design/classes.js'

export interface SplitHandleProps {
  readonly label: string
  /** `vertical`: a line from top to bottom, moved sideways. */
  readonly direction: 'vertical' | 'horizontal'
  /** Size in pixels of what stands before it. */
  readonly size: number
  readonly min: number
  readonly max: number
  readonly onResize: (size: number) => void
}

const STEP = 16

/** The line between two parts of a page, which can be moved with the mouse and with arrow keys. */
export function SplitHandle({ label, direction, size, min, max, onResize }: SplitHandleProps) {
  const isVertical = direction === 'vertical'
  const resize = (next: number): void => onResize(Math.round(Math.min(max, Math.max(min, next))))
  const drag = (event: React.PointerEvent<HTMLDivElement>): void => {
    if (event.button !== 0) return
    const handle = event.currentTarget
    const start = (isVertical ? event.clientX : event.clientY) - size
    handle.setPointerCapture(event.pointerId)
    const end = new AbortController()
    const { signal } = end
    const move = (moved: PointerEvent): void =>
      resize((isVertical ? moved.clientX : moved.clientY) - start)
    handle.addEventListener('pointermove', move, { signal })
    handle.addEventListener('pointerup', () => end.abort(), { signal })
    handle.addEventListener('pointercancel', () => end.abort(), { signal })
  }
  const press = (event: React.KeyboardEvent): void => {
    const [less, more] = isVertical ? ['ArrowLeft', 'ArrowRight'] : ['ArrowUp', 'ArrowDown']
    const next = { [less]: size - STEP, [more]: size + STEP, Home: min, End: max }[event.key]
    if (next === undefined) return
    event.preventDefault()
    resize(next)
  }
  return (
    <div
      role="separator"
      tabIndex={0}
      aria-label={label}
      aria-orientation={direction}
      aria-valuenow={size}
      aria-valuemin={min}
      aria-valuemax={max}
      onPointerDown={drag}
      onKeyDown={press}
      className={classes(
        'relative z-10 shrink-0 touch-none bg-line hover:bg-accent',
        isVertical
          ? 'w-px cursor-col-resize after:absolute after:inset-y-0 after:-left-1 after:w-2.5'
          : 'h-px cursor-row-resize after:absolute after:inset-x-0 after:-top-1 after:h-2.5',
      )}
    />
  )
}
