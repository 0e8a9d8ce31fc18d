import { Tooltip } from '@base-ui/react/tooltip'
import { Link } from '@tanstack/react-router'
import type { ComponentProps, ReactNode } from 'react'
import { classes } from './classes.js'

/** `primary`: the main action. `quiet`: one of several, without a border. */
type ButtonLook = 'primary' | 'plain' | 'quiet' | 'danger'

const LOOKS: Readonly<Record<ButtonLook, string>> = {
  primary: 'bg-accent text-on-accent border-accent focus-visible:outline-offset-2',
  plain: 'bg-surface text-text border-line-strong hover:bg-raised',
  quiet: 'bg-transparent text-text border-transparent hover:bg-sunken',
  danger: 'bg-surface text-danger border-danger hover:bg-danger-soft',
}

/** Also for links that look like buttons. */
export const buttonLook = (look: ButtonLook = 'plain', className?: string): string =>
  classes(
    'inline-flex h-7 shrink-0 items-center justify-center gap-1.5 rounded border px-2.5 whitespace-nowrap disabled:opacity-50 aria-disabled:opacity-50',
    LOOKS[look],
    className,
  )

export const IS_MAC =
  typeof navigator !== 'undefined' && /mac|iphone|ipad/i.test(navigator.platform)

const NAMES: Readonly<Record<string, string>> = {
  Mod: IS_MAC ? '⌘' : 'Ctrl',
  Alt: IS_MAC ? '⌥' : 'Alt',
  Shift: IS_MAC ? '⇧' : 'Shift',
  ArrowUp: '↑',
  ArrowDown: '↓',
  ArrowLeft: '←',
  ArrowRight: '→',
  Escape: 'Esc',
  ' ': 'Space',
}

/** Key names to show. `+` itself can be a key. */
const keyNames = (keys: string): readonly string[] =>
  (keys === '+' ? ['+'] : keys.replace(/\+\+$/, '+Plus').split('+')).map((part, index, all) =>
    part === 'Plus'
      ? '+'
      : (NAMES[part] ?? (all.length > 1 && part.length === 1 ? part.toUpperCase() : part)),
  )

/** A key in the notation of commands: `j`, `Shift+F10`, `Mod+k`. */
export const Kbd = ({ keys }: { keys: string }) => (
  <kbd className="inline-flex h-4.5 min-w-4.5 items-center justify-center rounded-sm border border-line-strong bg-surface px-1 font-mono text-xs whitespace-nowrap text-muted">
    {keyNames(keys).join(IS_MAC ? '' : '+')}
  </kbd>
)

interface ButtonProps extends ComponentProps<'button'> {
  readonly look?: ButtonLook
}

export const Button = ({ look, className, ...rest }: ButtonProps) => (
  <button type="button" className={buttonLook(look, className)} {...rest} />
)

export const TextButton = ({ className, ...rest }: ComponentProps<'button'>) => (
  <button
    type="button"
    className={classes('text-left text-accent hover:underline', className)}
    {...rest}
  />
)

export const AllRunsLink = ({ look }: { readonly look?: ButtonLook }) => (
  <Link to="/" className={buttonLook(look)}>
    All runs
  </Link>
)

interface RunLinkProps extends ComponentProps<'a'> {
  readonly run: string
  readonly step?: string | undefined
}

export const RunLink = ({ run, step, ...rest }: RunLinkProps) => (
  <Link to="/runs/$run" params={{ run }} search={step === undefined ? {} : { step }} {...rest} />
)

interface IconButtonProps extends Omit<ComponentProps<'button'>, 'children' | 'title'> {
  readonly label: string
  readonly icon: ReactNode
  readonly keys?: string | undefined
}

/** The tooltip must never be the only source of information. */
export const IconButton = ({ label, icon, keys, className, ...rest }: IconButtonProps) => (
  <Tooltip.Root>
    <Tooltip.Trigger
      delay={500}
      render={
        <button
          type="button"
          aria-label={label}
          className={classes(
            'inline-flex size-7 shrink-0 items-center justify-center rounded border border-transparent text-muted hover:bg-sunken hover:text-text disabled:opacity-50 aria-disabled:opacity-50',
            className,
          )}
          {...rest}
        >
          {icon}
        </button>
      }
    />
    <Tooltip.Portal>
      <Tooltip.Positioner sideOffset={6} className="z-50">
        <Tooltip.Popup className="max-w-80 rounded border border-line-strong bg-raised px-2 py-1 text-sm text-text shadow-md">
          <span className="inline-flex items-center gap-2">
            {label}
            {keys !== undefined && <Kbd keys={keys} />}
          </span>
        </Tooltip.Popup>
      </Tooltip.Positioner>
    </Tooltip.Portal>
  </Tooltip.Root>
)
