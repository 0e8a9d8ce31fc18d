import type { ReactNode } from 'react'
import { classes } from './classes.js'

export interface Fact {
  readonly label: string
  /** Facts without a value are left out. */
  readonly value: ReactNode
  /** More about it, when pointed at. */
  readonly title?: string | undefined
  readonly isMono?: boolean
}

/** Names and values in a row that wraps. */
export function Facts({
  facts,
  className,
}: {
  readonly facts: readonly Fact[]
  readonly className?: string
}) {
  return (
    <dl className={classes('flex flex-wrap gap-x-4 gap-y-0.5', className)}>
      {facts
        .filter(({ value }) => value !== undefined && value !== null && value !== '')
        .map(({ label, value, title, isMono = false }) => (
          <div key={label} className="flex min-w-0 gap-1.5" title={title}>
            <dt className="shrink-0 text-muted">{label}</dt>
            <dd className={classes('min-w-0 wrap-anywhere', isMono && 'font-mono text-sm')}>
              {value}
            </dd>
          </div>
        ))}
    </dl>
  )
}
