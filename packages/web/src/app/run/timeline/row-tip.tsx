import { ROLE_WORDS, clock, cost, count, duration, type StepRow } from '@retake/tape/present'
import type { SeenRole } from '../../blame/role-shapes.js'
import { RoleName } from '../../blame/role-mark.js'

export interface RowTipProps {
  readonly row: StepRow
  /** What it had to do with the failure, if that was asked and it had something to do with it. */
  readonly role: SeenRole | undefined
  readonly x: number
  readonly y: number
  readonly width: number
}

/** What is known of the step under the pointer. */
export function RowTip({ row, role, x, y, width }: RowTipProps) {
  const facts = [
    `at ${clock(row.at)}`,
    row.latencyMs === undefined || row.inferred ? undefined : `took ${duration(row.latencyMs)}`,
    row.tokensIn === undefined
      ? undefined
      : `${count(row.tokensIn)} → ${count(row.tokensOut ?? 0)} tokens`,
    row.costUsd === undefined
      ? row.kind === 'model' && row.state === 'done'
        ? 'cost unknown'
        : undefined
      : cost(row.costUsd),
    row.inferred ? 'inferred: times are those of the model calls around it' : undefined,
  ].filter((fact) => fact !== undefined)
  return (
    <div
      aria-hidden="true"
      className="pointer-events-none absolute z-20 max-w-90 rounded border border-line-strong bg-surface px-2 py-1 text-sm shadow"
      style={{ top: y + 14, ...(x > width / 2 ? { right: width - x + 4 } : { left: x + 8 }) }}
    >
      <p className="truncate">
        <span className="mr-1.5 font-mono text-muted">{row.label}</span>
        {row.title}
      </p>
      <p className="text-muted">
        {[row.kind, ...(row.state === 'done' ? [] : [row.state])].join(', ')} · {facts.join(' · ')}
      </p>
      {role !== undefined && (
        <p>
          <RoleName role={role} /> <span className="text-muted">{ROLE_WORDS[role]}</span>
        </p>
      )}
      {row.error !== undefined && <p className="truncate text-danger">{row.error}</p>}
    </div>
  )
}
