import {
  ORIGIN_WORDS,
  type RowKind,
  type RowOrigin,
  type RowState,
  RUN_STATUS_WORDS,
  type RunStatus,
  STATE_WORDS,
} from '@retake/tape/present'
import type { ReactNode } from 'react'
import { classes } from './classes.js'

/** A shape and a letter for each kind, so that kinds are recognizable without colour. */
const KINDS: Readonly<Record<RowKind, { letter: string; shape: string; color: string }>> = {
  model: {
    letter: 'M',
    shape: 'M8 1.2a6.8 6.8 0 1 1 0 13.6A6.8 6.8 0 0 1 8 1.2Z',
    color: 'text-kind-model',
  },
  tool: { letter: 'T', shape: 'M1.8 1.8h12.4v12.4H1.8Z', color: 'text-kind-tool' },
  http: { letter: 'H', shape: 'M8 .8 15.2 8 8 15.2.8 8Z', color: 'text-kind-http' },
  mcp: {
    letter: 'P',
    shape: 'M8 .9 14.2 4.4v7.2L8 15.1 1.8 11.6V4.4Z',
    color: 'text-kind-mcp',
  },
  process: { letter: '$', shape: 'M.8 3h14.4v10H.8Z', color: 'text-kind-process' },
  mark: { letter: '#', shape: 'M2.5 1.2h11v13.6L8 12l-5.5 2.8Z', color: 'text-kind-mark' },
  crash: { letter: '✕', shape: 'M5 1h6l4 4v6l-4 4H5l-4-4V5Z', color: 'text-danger' },
}

export const KIND_NAMES: Readonly<Record<RowKind, string>> = {
  model: 'model call',
  tool: 'tool call',
  http: 'HTTP request',
  mcp: 'MCP request',
  process: 'process',
  mark: 'mark',
  crash: 'error outside of steps',
}

interface KindMarkProps {
  readonly kind: RowKind
  /** True if the kind is also written next to it. */
  readonly isDecorative?: boolean
  readonly className?: string
}

export function KindMark({ kind, isDecorative = false, className }: KindMarkProps) {
  const { letter, shape, color } = KINDS[kind]
  return (
    <svg
      viewBox="0 0 16 16"
      width="16"
      height="16"
      className={classes('shrink-0', color, className)}
      {...(isDecorative
        ? { 'aria-hidden': true }
        : { role: 'img', 'aria-label': KIND_NAMES[kind] })}
    >
      {!isDecorative && <title>{KIND_NAMES[kind]}</title>}
      <path d={shape} fill="currentColor" fillOpacity="0.12" stroke="currentColor" />
      <text
        x="8"
        y="11"
        textAnchor="middle"
        fontSize="8.5"
        fontWeight="600"
        fill="currentColor"
        className="font-sans"
      >
        {letter}
      </text>
    </svg>
  )
}

interface RunStatusBadgeProps {
  readonly status: RunStatus
  /** True if the run fails the check of its last `retake blame`. */
  readonly failedCheck?: boolean
}

export const RunStatusBadge = ({ status, failedCheck = false }: RunStatusBadgeProps) =>
  failedCheck && status === 'done' ? (
    <Badge tone="danger" title="It ended without an error, but failed the check of `retake blame`.">
      failed your check
    </Badge>
  ) : (
    <Badge {...RUN_STATUS_WORDS[status]}>{status}</Badge>
  )

/** Shows nothing for a step that is done. */
export const StateBadge = ({ state }: { state: RowState }) =>
  state === 'done' ? null : <Badge {...STATE_WORDS[state]}>{state}</Badge>

export const OriginBadge = ({ origin }: { origin: RowOrigin }) => (
  <Badge {...ORIGIN_WORDS[origin]}>{origin}</Badge>
)

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

export const Badge = ({ tone = 'neutral', title, children }: BadgeProps) => (
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

export const ImportedBadge = () => (
  <Badge title="A trace of another tool: it can be read and compared, but not run again.">
    imported
  </Badge>
)

interface Fact {
  readonly label: string
  /** Facts without a value are omitted. */
  readonly value: ReactNode
  readonly title?: string | undefined
  readonly isMono?: boolean
}

export const Facts = ({ facts, className }: { facts: readonly Fact[]; className?: string }) => (
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
