import { useId, type ComponentProps, type ReactNode } from 'react'
import { classes } from './classes.js'

/** What every field looks like. On a phone its letters are large enough that the page does not zoom. */
export const fieldLook =
  'h-7 w-full min-w-0 rounded border border-line-field bg-surface px-2 text-text disabled:opacity-50 aria-invalid:border-danger max-sm:h-8 max-sm:text-[1rem]'

export interface TextFieldProps extends Omit<ComponentProps<'input'>, 'onChange' | 'value'> {
  readonly label: string
  /** True where what is around it says what it is; the label is then only read aloud. */
  readonly hidesLabel?: boolean
  readonly value: string
  readonly onChange: (value: string) => void
  /** What is wrong with it, if something is. */
  readonly error?: string | undefined
  readonly hint?: ReactNode
}

/** One line of text. */
export function TextField({
  label,
  hidesLabel = false,
  value,
  onChange,
  error,
  hint,
  className,
  ...rest
}: TextFieldProps) {
  const id = useId()
  const note = error ?? hint
  return (
    <div className={classes('flex flex-col gap-1', className)}>
      <label htmlFor={id} className={hidesLabel ? 'sr-only' : 'text-sm text-muted'}>
        {label}
      </label>
      <input
        id={id}
        type="text"
        autoComplete="off"
        spellCheck={false}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        aria-invalid={error === undefined ? undefined : true}
        aria-describedby={note === undefined ? undefined : `${id}-note`}
        className={fieldLook}
        {...rest}
      />
      {note !== undefined && (
        <p
          id={`${id}-note`}
          className={classes('text-sm', error === undefined ? 'text-muted' : 'text-danger')}
        >
          {note}
        </p>
      )}
    </div>
  )
}
