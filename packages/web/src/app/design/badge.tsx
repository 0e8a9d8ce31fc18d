import type { ReactNode } from 'react'
import { classes } from './classes.js'

export interface BadgeProps {
  readonly tone?: 'neutral' | 'accent' | 'good' | 'warning' | 'danger'
  readonly title?: string | undefined
  readonly children: ReactNode
}

const TONES = {
  neutral: 'bg-sunken text-muted ring-line ring-inset dark:ring-1',
  accent: 'bg-accent-soft text-accent',
  good: 'bg-good-soft text-good',
  warning: 'bg-warning-soft text-warning',
  danger: 'bg-danger-soft text-danger',
} as const

/** A short fact about something, in a word. */
export function Badge({ tone = 'neutral', title, children }: BadgeProps) {
  return (
    <span
      title={title}
      className={classes(
        'inline-flex h-4.5 shrink-0 items-center gap-1 rounded-sm px-1.5 text-xs whitespace-nowrap',
        TONES[tone],
      )}
    >
      {children}
    </span>
  )
}
