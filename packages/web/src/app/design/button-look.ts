import { classes } from './classes.js'

/** `primary`: the one thing to do here. `quiet`: among others, without a border. */
export type ButtonLook = 'primary' | 'plain' | 'quiet' | 'danger'

const LOOKS: Readonly<Record<ButtonLook, string>> = {
  primary: 'bg-accent text-on-accent border-accent focus-visible:outline-offset-2',
  plain: 'bg-surface text-text border-line-strong hover:bg-raised',
  quiet: 'bg-transparent text-text border-transparent hover:bg-sunken',
  danger: 'bg-surface text-danger border-danger hover:bg-danger-soft',
}

/** What a button looks like, also for links that stand beside buttons. */
export const buttonLook = (look: ButtonLook = 'plain', className?: string): string =>
  classes(
    'inline-flex h-7 shrink-0 items-center justify-center gap-1.5 rounded border px-2.5 whitespace-nowrap disabled:opacity-50 aria-disabled:opacity-50',
    LOOKS[look],
    className,
  )
