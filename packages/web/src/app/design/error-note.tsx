import type { ReactNode } from 'react'
import { explainError } from './explain-error.js'
import { WarningIcon } from './icons.js'

export interface ErrorNoteProps {
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
