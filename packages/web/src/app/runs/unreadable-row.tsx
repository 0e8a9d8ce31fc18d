import type { UnreadableRun } from '../../model/run-head.js'
import { Badge } from '../design/badge.js'

/** A tape that cannot be read, with what is wrong about it. */
export function UnreadableRow({ run }: { readonly run: UnreadableRun }) {
  const { code, what, why, fix } = run.error
  return (
    <div className="flex flex-col gap-0.5 py-1.5 pr-3 pl-12">
      <span className="flex items-center gap-2">
        <span className="truncate font-mono text-sm">{run.id}</span>
        <Badge tone="danger">unreadable</Badge>
        <span className="font-mono text-xs text-muted">{code}</span>
      </span>
      <span className="text-sm wrap-anywhere text-muted">
        {[what, why, fix].filter((each) => each !== undefined).join(' ')}
      </span>
    </div>
  )
}
