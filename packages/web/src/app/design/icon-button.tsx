import type { ComponentProps, ReactNode } from 'react'
import { classes } from './classes.js'
import { Kbd } from './kbd.js'
import { Tooltip } from './tooltip.js'

export interface IconButtonProps extends Omit<ComponentProps<'button'>, 'children' | 'title'> {
  /** What it does: its name, and what the tooltip says. */
  readonly label: string
  readonly icon: ReactNode
  /** Key that does the same, as commands name it. */
  readonly keys?: string | undefined
  readonly isPressed?: boolean | undefined
}

/** A button that shows only a sign. */
export function IconButton({ label, icon, keys, isPressed, className, ...rest }: IconButtonProps) {
  return (
    <Tooltip
      text={
        <span className="inline-flex items-center gap-2">
          {label}
          {keys !== undefined && <Kbd keys={keys} />}
        </span>
      }
    >
      <button
        type="button"
        aria-label={label}
        aria-pressed={isPressed}
        className={classes(
          'inline-flex size-7 shrink-0 items-center justify-center rounded border border-transparent text-muted hover:bg-sunken hover:text-text disabled:opacity-50 aria-disabled:opacity-50 aria-pressed:bg-accent-soft aria-pressed:text-accent',
          className,
        )}
        {...rest}
      >
        {icon}
      </button>
    </Tooltip>
  )
}
