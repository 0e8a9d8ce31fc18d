import type { ReactNode } from 'react'

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
