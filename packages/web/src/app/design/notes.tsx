import type { ReactNode } from 'react'
import { explainError } from '../sources/home-error.js'
import { WarningIcon } from './icons.js'

export interface EmptyNoteProps {
  /** What is not there: "No step matches the filter". */
  readonly title: ReactNode
  /** Why, or what to do. */
  readonly children?: ReactNode
}

/** Stands where there is nothing to show, and says why. */
export function EmptyNote({ title, children }: EmptyNoteProps) {
  return (
    <div className="flex flex-col items-center gap-1.5 px-4 py-10 text-center text-muted">
      <p className="text-text">{title}</p>
      {children}
    </div>
  )
}

/** Something is waited for. Whoever wants no motion gets a ring that stands still, and the words. */
export function Spinner({ label = 'Loading…' }: { readonly label?: string }) {
  return (
    <output className="inline-flex items-center gap-2 text-muted">
      <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" className="animate-spin">
        <circle
          cx="8"
          cy="8"
          r="6"
          fill="none"
          stroke="currentColor"
          strokeOpacity="0.3"
          strokeWidth="2"
        />
        <path d="M8 2a6 6 0 0 1 6 6" fill="none" stroke="currentColor" strokeWidth="2" />
      </svg>
      {label}
    </output>
  )
}

interface ProgressProps {
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

interface ErrorNoteProps {
  /** An error of a home, or anything that was thrown. */
  readonly error: unknown
  /** What can be done here about it. */
  readonly actions?: ReactNode
}

/** What went wrong, why, and what to do about it. */
export function ErrorNote({ error, actions }: ErrorNoteProps) {
  const { code, what, why, fix } = explainError(error)
  return (
    <div
      role="alert"
      className="flex gap-2 rounded border border-danger bg-danger-soft p-2.5 text-text"
    >
      <span className="mt-px text-danger">
        <WarningIcon />
      </span>
      <div className="flex min-w-0 flex-col gap-1 wrap-anywhere">
        <p className="font-medium">{what}</p>
        {why !== undefined && <p>{why}</p>}
        {fix !== undefined && <p>{fix}</p>}
        {code !== 'UNEXPECTED' && <p className="font-mono text-sm text-muted">{code}</p>}
        {actions !== undefined && <div className="mt-1 flex flex-wrap gap-2">{actions}</div>}
      </div>
    </div>
  )
}

/** What stands where something is not there yet, or could not be had. */
export function QueryNote({ what, error }: { readonly what: string; readonly error: unknown }) {
  return (
    <div className="p-3">
      {error === null || error === undefined ? (
        <Spinner label={`Reading ${what}`} />
      ) : (
        <ErrorNote error={error} />
      )}
    </div>
  )
}
