import type { RunComparison } from '../../api/run-comparison.js'
import type { RunCard } from '../../model/run-head.js'
import { Badge } from '../design/badge.js'
import { RunStatusBadge } from '../design/status-badges.js'

/** The two runs and their totals, and in words where they part. */
export function CompareSummary({ comparison }: { readonly comparison: RunComparison }) {
  const { a, b, totals, equal, first, descent, sameUntil } = comparison
  return (
    <section aria-label="The two runs" className="flex flex-col gap-1">
      {equal ? (
        <p className="font-medium">
          The two runs do not differ in anything that is compared: steps, output, outcome.
        </p>
      ) : (
        <p>
          <span className="font-medium">First difference: </span>
          {first ?? 'in what they printed or came to.'}
          {sameUntil !== undefined && (
            <span className="text-muted"> The same until step {sameUntil}.</span>
          )}
        </p>
      )}
      {descent !== undefined && <p className="text-muted">{descent}</p>}
      <div className="mt-1 overflow-x-auto">
        <table className="w-full max-w-200 border-collapse text-left">
          <thead>
            <tr className="border-b border-line align-bottom">
              <th scope="col" className="py-1 pr-4 font-normal text-muted">
                Facts
              </th>
              <RunHeading run={a} which="a" />
              <RunHeading run={b} which="b" />
              <th scope="col" className="py-1 font-normal text-muted">
                Change
              </th>
            </tr>
          </thead>
          <tbody>
            {totals.map((total) => (
              <tr key={total.name} className="border-b border-line">
                <th scope="row" className="py-0.5 pr-4 font-normal text-muted">
                  {total.name}
                </th>
                <td className="py-0.5 pr-4 font-mono text-sm">{total.a}</td>
                <td className="py-0.5 pr-4 font-mono text-sm">{total.b}</td>
                <td className="py-0.5 font-mono text-sm">
                  {total.change === undefined ? '' : <Badge tone="accent">{total.change}</Badge>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}

function RunHeading({ run, which }: { readonly run: RunCard; readonly which: string }) {
  return (
    <th scope="col" className="py-1 pr-4 font-normal">
      <span className="block text-sm text-muted">
        Run {which}
        {run.branch && ` · ${run.branch.kind}`}
      </span>
      <span className="flex flex-wrap items-center gap-2">
        <span className="font-medium">{run.name}</span>
        <RunStatusBadge status={run.status} />
      </span>
      <span className="hidden font-mono text-sm text-muted sm:block">{run.id}</span>
    </th>
  )
}
