export interface ProgressProps {
  readonly label: string
  readonly value: number
  readonly max: number
}

/** How far something is. */
export function Progress({ label, value, max }: ProgressProps) {
  return (
    <progress
      aria-label={label}
      value={Math.min(value, max)}
      max={max > 0 ? max : 1}
      className="block h-1 w-full appearance-none overflow-hidden rounded-full bg-sunken [&::-moz-progress-bar]:bg-accent [&::-webkit-progress-bar]:bg-sunken [&::-webkit-progress-value]:bg-accent"
    />
  )
}
