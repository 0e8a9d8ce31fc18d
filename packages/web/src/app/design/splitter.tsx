import type { KeyboardEvent, PointerEvent } from 'react'
import { classes } from './classes.js'

interface SplitterProps {
  readonly label: string
  readonly orientation: 'vertical' | 'horizontal'
  /** Size in pixels of the part before the splitter. */
  readonly size: number
  readonly onSize: (size: number) => void
  readonly min: number
  readonly max: number
}

const STEP = 16

export function Splitter(props: SplitterProps) {
  const { label, orientation, size, min, max } = props
  const isVertical = orientation === 'vertical'
  const set = (next: number): void => props.onSize(Math.round(Math.min(max, Math.max(min, next))))

  const drag = (down: PointerEvent<HTMLElement>): void => {
    if (down.button !== 0) return
    down.preventDefault()
    const line = down.currentTarget
    line.focus()
    line.setPointerCapture(down.pointerId)
    const pointer = (event: { clientX: number; clientY: number }): number =>
      isVertical ? event.clientX : event.clientY
    const start = pointer(down)
    const move = (event: globalThis.PointerEvent): void => set(size + pointer(event) - start)
    const stop = (): void => {
      line.removeEventListener('pointermove', move)
      line.removeEventListener('lostpointercapture', stop)
    }
    line.addEventListener('pointermove', move)
    line.addEventListener('lostpointercapture', stop)
  }

  const press = (event: KeyboardEvent): void => {
    const [less, more] = isVertical ? ['ArrowLeft', 'ArrowRight'] : ['ArrowUp', 'ArrowDown']
    const next = { [less]: size - STEP, [more]: size + STEP, Home: min, End: max }[event.key]
    if (next === undefined) return
    event.preventDefault()
    set(next)
  }

  return (
    <div
      // `hr` is not interactive.
      // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role
      role="separator"
      tabIndex={0}
      aria-label={label}
      aria-orientation={orientation}
      aria-valuenow={Math.round(size)}
      aria-valuemin={min}
      aria-valuemax={max}

      onPointerDown={drag}
      onKeyDown={press}
      className={classes(
        'relative shrink-0 touch-none bg-line hover:bg-accent focus-visible:bg-accent after:absolute after:content-[""]',
        isVertical
          ? 'w-px cursor-col-resize after:inset-y-0 after:-inset-x-1'
          : 'h-px cursor-row-resize after:inset-x-0 after:-inset-y-1',
      )}
    />
  )
}
