import { type ComponentProps, type ReactNode, useId } from 'react'
import { classes } from './classes.js'

/** On phones, the font is large enough to prevent the browser from zooming in. */
export const fieldLook =
  'h-7 w-full min-w-0 rounded border border-line-field bg-surface px-2 text-text disabled:opacity-50 max-sm:h-8 max-sm:text-[1rem]'

interface TextFieldProps extends Omit<ComponentProps<'input'>, 'onChange' | 'value'> {
  readonly label: string
  /** Shows the label only to screen readers. */
  readonly hidesLabel?: boolean
  readonly value: string
  readonly onChange: (value: string) => void
}

export function TextField(props: TextFieldProps) {
  const { label, hidesLabel = false, onChange, className, ...rest } = props
  const id = useId()
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
        onChange={(event) => onChange(event.target.value)}
        className={fieldLook}
        {...rest}
      />
    </div>
  )
}

interface CheckboxProps {
  readonly label: ReactNode
  readonly isChecked: boolean
  readonly onChange: (isChecked: boolean) => void
  readonly hint?: ReactNode
}

export const Checkbox = ({ label, isChecked, onChange, hint }: CheckboxProps) => (
  <label className="inline-flex items-start gap-2 py-0.5">
    <input
      type="checkbox"
      checked={isChecked}
      onChange={(event) => onChange(event.target.checked)}
      className="mt-px size-4 shrink-0 accent-accent"
    />
    <span>
      {label}
      {hint !== undefined && <span className="block text-sm text-muted">{hint}</span>}
    </span>
  </label>
)

interface SelectProps<T extends string> {
  readonly label: string
  readonly value: T
  readonly options: readonly { readonly value: T; readonly title: string }[]
  readonly onChange: (value: T) => void
}

/** Uses the native control, which works best on phones. */
export const Select = <T extends string>({ label, value, options, onChange }: SelectProps<T>) => (
  <label className="inline-flex flex-col gap-1">
    <span className="text-sm text-muted">{label}</span>
    <select
      value={value}
      onChange={(event) => onChange(event.target.value as T)}
      className={classes(fieldLook, 'pr-1')}
    >
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.title}
        </option>
      ))}
    </select>
  </label>
)

interface ChoiceProps<T extends string> {
  readonly label: string
  readonly value: T
  readonly onChange: (value: T) => void
  readonly choices: readonly { readonly value: T; readonly title: string }[]
}

export function Choice<T extends string>({ label, value, onChange, choices }: ChoiceProps<T>) {
  if (choices.length < 2) return null
  return (
    <fieldset className="inline-flex rounded border border-line">
      <legend className="sr-only">{label}</legend>
      {choices.map((choice) => (
        <button
          key={choice.value}
          type="button"
          aria-pressed={choice.value === value}
          className="h-5.5 border-r border-line px-2 text-sm text-muted last:border-r-0 hover:text-text aria-pressed:bg-accent-soft aria-pressed:text-accent"
          onClick={() => onChange(choice.value)}
        >
          {choice.title}
        </button>
      ))}
    </fieldset>
  )
}
