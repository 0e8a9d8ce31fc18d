import { useId } from 'react'
import { fieldLook } from './text-field.js'
import { classes } from './classes.js'

export interface SelectProps<T extends string> {
  readonly label: string
  /** True where what is around it says what it is; the label is then only read aloud. */
  readonly hidesLabel?: boolean
  readonly value: T
  readonly options: readonly { readonly value: T; readonly title: string }[]
  readonly onChange: (value: T) => void
  readonly disabled?: boolean
  readonly className?: string
}

/** One of a few. The browser's own list: it is the best one on a phone. */
export function Select<T extends string>({
  label,
  hidesLabel = false,
  value,
  options,
  onChange,
  disabled,
  className,
}: SelectProps<T>) {
  const id = useId()
  return (
    <span className={classes('inline-flex flex-col gap-1', className)}>
      <label htmlFor={id} className={hidesLabel ? 'sr-only' : 'text-sm text-muted'}>
        {label}
      </label>
      <select
        id={id}
        value={value}
        disabled={disabled}
        onChange={(event) => onChange(event.target.value as T)}
        className={classes(fieldLook, 'pr-1')}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.title}
          </option>
        ))}
      </select>
    </span>
  )
}
