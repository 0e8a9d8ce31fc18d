import type { StepKind } from '@retake/tape'
import { classes } from './classes.js'

/** A shape and a letter for each kind, so that it can be told without colour. */
const KINDS: Readonly<Record<StepKind, { letter: string; shape: string; color: string }>> = {
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
}

export const KIND_NAMES: Readonly<Record<StepKind, string>> = {
  model: 'model call',
  tool: 'tool call',
  http: 'HTTP request',
  mcp: 'MCP request',
  process: 'process',
  mark: 'mark',
}

export interface KindMarkProps {
  readonly kind: StepKind
  /** True where the kind is also written in words beside it. */
  readonly isDecorative?: boolean
  readonly className?: string
}

/** The kind of a step in 16 × 16. */
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
