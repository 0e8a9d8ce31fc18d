import type { ReactNode } from 'react'
import type { RunHead } from '../../model/run-source.js'
import { explainError } from '../sources/backend-error.js'
import { useBackend } from '../sources/backend.js'
import { WarningIcon } from './icons.js'
import { CopyCommand } from './toast.js'

export const EmptyNote = ({ title, children }: { title: ReactNode; children?: ReactNode }) => (
  <div className="flex flex-col items-center gap-1.5 px-4 py-10 text-center text-muted">
    <p className="text-text">{title}</p>
    {children}
  </div>
)

interface SearchPanelProps<T> {
  readonly label: string
  readonly head: Pick<RunHead, 'recorded' | 'status'>
  /** Null if no search was made. */
  readonly result: T | null | undefined
  readonly error: unknown
  readonly render: (result: T) => ReactNode
  /** Name of the search, such as `search for causes`. */
  readonly search: string
  readonly purpose: string
  readonly command: string
  /** Shown below the command. */
  readonly hint: ReactNode
}

/** Shows the result of a search. Without one, shows how to start it or why that is not possible. */
export function SearchPanel<T>(props: SearchPanelProps<T>) {
  const { label, head, result, error, render, search, purpose, command, hint } = props
  const { report } = useBackend()
  const isRecording = head.status === 'recording'
  return (
    <section
      aria-label={label}
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrollable element must be reachable by keyboard
      tabIndex={0}
      className="@container h-full overflow-auto p-3"
    >
      {result !== null && result !== undefined ? (
        render(result)
      ) : error !== null ? (
        <ErrorNote error={error} />
      ) : result === undefined && !isRecording ? (
        <Spinner label="Reading the result" />
      ) : head.recorded === 'import' ? (
        <p className="p-1">
          A {search} runs the program again. This run was imported from another tool, and a trace
          does not contain what a program needs to run again. Record the program with{' '}
          <code className="font-mono text-sm">retake record</code>.
        </p>
      ) : (
        <div className="flex flex-col items-start gap-2 p-1">
          <p>
            {isRecording
              ? `The run is still being recorded. If it fails, this ${purpose}.`
              : report === undefined
                ? `There is no ${search} for this run yet. Start one:`
                : `This report has no ${search}. Run this command where the run is stored, then write the report again:`}
          </p>
          <CopyCommand command={command} />
          <p className="text-muted">{hint}</p>
        </div>
      )}
    </section>
  )
}

/** A description list. Terms without a description are omitted. */
export const Terms = ({ rows }: { rows: Readonly<Record<string, ReactNode>> }) => (
  <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-3 gap-y-0.5">
    {Object.entries(rows)
      .filter(([, text]) => text !== undefined && text !== false)
      .map(([name, text]) => (
        <div key={name} className="contents">
          <dt className="text-muted">{name}</dt>
          <dd className="min-w-0 wrap-anywhere">{text}</dd>
        </div>
      ))}
  </dl>
)

/** Does not spin if the user prefers reduced motion. */
export const Spinner = ({ label }: { label: string }) => (
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

export const ProgressNote = ({
  label,
  value,
  max,
}: {
  label: string
  value: number
  max: number
}) => (
  <progress
    aria-label={label}
    value={Math.min(value, max)}
    max={max > 0 ? max : 1}
    className="block h-1 w-full appearance-none overflow-hidden rounded-full bg-sunken [&::-moz-progress-bar]:bg-accent [&::-webkit-progress-bar]:bg-sunken [&::-webkit-progress-value]:bg-accent"
  />
)

export function ErrorNote({ error, actions }: { error: unknown; actions?: ReactNode }) {
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

export const QueryNote = ({ what, error }: { what: string; error: unknown }) => (
  <div className="p-3">
    {error === null || error === undefined ? (
      <Spinner label={`Reading ${what}`} />
    ) : (
      <ErrorNote error={error} />
    )}
  </div>
)
