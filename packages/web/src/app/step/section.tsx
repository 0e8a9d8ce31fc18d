import type { ReactNode } from 'react'

export interface SectionProps {
  readonly title: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}

/** A titled part of a view of a step. */
export function Section({ title, actions, children }: SectionProps) {
  return (
    <section className="min-w-0">
      <div className="mb-1 flex items-center gap-2 border-b border-line pb-0.5">
        <h3 className="text-sm font-medium text-muted">{title}</h3>
        {actions}
      </div>
      {children}
    </section>
  )
}
