import type { ReactNode } from 'react'

export interface PageFrameProps {
  /** Where the page is, from the home down. */
  readonly title: ReactNode
  readonly actions?: ReactNode
  /** One line at the bottom: what goes on. */
  readonly status?: ReactNode
  readonly children: ReactNode
}

/** What every page has: a bar above, the page, a line below. */
export function PageFrame({ title, actions, status, children }: PageFrameProps) {
  return (
    <div className="flex h-dvh flex-col">
      <header className="flex h-10 shrink-0 items-center gap-3 border-b border-line px-3">
        <div className="min-w-0 flex-1 truncate">{title}</div>
        {actions}
      </header>
      <main className="min-h-0 flex-1">{children}</main>
      <footer className="h-6 shrink-0 border-t border-line px-3 text-sm text-muted">
        {status}
      </footer>
    </div>
  )
}
