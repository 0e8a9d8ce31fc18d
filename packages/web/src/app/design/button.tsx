import type { ComponentProps } from 'react'
import { classes } from './classes.js'

export interface ButtonProps extends ComponentProps<'button'> {
  /** `primary`: the one thing to do here. `quiet`: among others, without a border. */
  readonly look?: 'primary' | 'plain' | 'quiet' | 'danger'
}

const LOOKS = {
  primary: 'bg-accent text-on-accent border-accent',
  plain: 'bg-surface text-text border-line-strong hover:bg-raised',
  quiet: 'bg-transparent text-text border-transparent hover:bg-sunken',
  danger: 'bg-surface text-danger border-danger hover:bg-danger-soft',
} as const

export function Button({ look = 'plain', className, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      className={classes(
        'inline-flex h-7 items-center gap-1.5 rounded border px-2.5 whitespace-nowrap disabled:opacity-50',
        LOOKS[look],
        className,
      )}
      {...rest}
    />
  )
}
