import { useId } from 'react'

export interface ChoiceGroupProps<T extends string> {
  readonly label: string
  readonly value: T
  readonly onChange: (value: T) => void
  readonly choices: readonly {
    readonly value: T
    readonly title: string
    readonly text: string
    /** Why it cannot be chosen. */
    readonly disabled?: string | undefined
  }[]
}

/** One of a few things, each with a line that says what it means. */
export function ChoiceGroup<T extends string>({
  label,
  value,
  onChange,
  choices,
}: ChoiceGroupProps<T>) {
  const name = useId()
  return (
    <fieldset className="min-w-0">
      <legend className="mb-1 text-sm text-muted">{label}</legend>
      <div className="grid gap-2 sm:grid-cols-[repeat(auto-fit,minmax(0,1fr))]">
        {choices.map((choice) => (
          <label
            key={choice.value}
            className="flex cursor-pointer items-start gap-2 rounded border border-line px-2.5 py-1.5 has-checked:border-accent has-checked:bg-accent-soft has-disabled:cursor-default has-disabled:text-muted has-focus-visible:outline-2 has-focus-visible:outline-accent"
          >
            <input
              type="radio"
              aria-label={choice.title}
              className="mt-0.5 accent-accent outline-none"
              name={name}
              checked={choice.value === value}
              disabled={choice.disabled !== undefined}
              onChange={() => onChange(choice.value)}
            />
            <span className="min-w-0">
              <span className="block">{choice.title}</span>
              <span className="block text-sm text-muted">{choice.disabled ?? choice.text}</span>
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  )
}
