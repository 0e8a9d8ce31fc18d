export interface ChoiceProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly choices: readonly { readonly value: string; readonly title: string }[]
}

/** One of a few, all in sight. */
export function Choice({ label, value, onChange, choices }: ChoiceProps) {
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
