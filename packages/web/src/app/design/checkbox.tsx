import type { ReactNode } from 'react'

export interface CheckboxProps {
  readonly label: ReactNode
  readonly isChecked: boolean
  readonly onChange: (isChecked: boolean) => void
  readonly disabled?: boolean
  readonly hint?: ReactNode
}

/** Yes or no. */
export function Checkbox({ label, isChecked, onChange, disabled = false, hint }: CheckboxProps) {
  return (
    <label className="inline-flex items-start gap-2 py-0.5">
      <input
        type="checkbox"
        checked={isChecked}
        disabled={disabled}
        onChange={(event) => onChange(event.target.checked)}
        className="mt-px size-4 shrink-0 accent-accent"
      />
      <span className={disabled ? 'text-muted' : undefined}>
        {label}
        {hint !== undefined && <span className="block text-sm text-muted">{hint}</span>}
      </span>
    </label>
  )
}
