import { Link } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { costText, count, duration, localTime, plural, runEnd } from '@retake/tape/present'
import type { RunHead } from '../../model/run-head.js'
import { Badge } from '../design/badge.js'
import { Button } from '../design/button.js'
import { Dialog } from '../design/dialog.js'
import { RunStatusBadge } from '../design/status-badges.js'
import { ReportNote } from '../report/report-note.js'
import { useHome } from '../sources/viewer-home.js'
import { originOfRun, tokensOfRun } from './run-facts.js'
import { useRows, type Run } from './use-run.js'

/** What there is to know about a run in one line. */
export function RunHeadLine({ run: { head, rows } }: { readonly run: Run }) {
  const version = useRows(rows)
  const { totals } = rows
  // oxlint-disable-next-line react/exhaustive-deps -- the version says when rows have changed
  const tokens = useMemo(() => tokensOfRun(rows), [rows, version])
  const end = runEnd(head)
  const facts = [
    plural(rows.isComplete ? rows.length : head.recordedSteps, 'step'),
    totals?.modelCalls ? plural(totals.modelCalls, 'model call') : undefined,
    totals?.toolCalls ? plural(totals.toolCalls, 'tool call') : undefined,
    tokens,
    totals?.modelCalls ? costText(totals) : undefined,
    duration(head.durationMs),
    head.lanes.length > 1 ? plural(head.lanes.length, 'lane') : undefined,
  ].filter((fact) => fact !== undefined)
  return (
    <div className="flex min-h-8 shrink-0 flex-wrap items-center gap-x-3 gap-y-0.5 border-b border-line px-3 py-1 text-sm">
      <RunStatusBadge status={head.status} />
      {end !== undefined && (
        <span className="-ml-1 max-w-[80ch] min-w-0 truncate" title={end}>
          {end}
        </span>
      )}
      <Origin head={head} />
      {facts.map((fact) => (
        <span key={fact} className="whitespace-nowrap">
          {fact}
        </span>
      ))}
      <span
        className="whitespace-nowrap text-muted max-sm:hidden"
        title={[`Node ${head.node.replace(/^v/, '')}`, head.platform, ...head.command]
          .filter(Boolean)
          .join(' ')}
      >
        {localTime(head.startedAt)}
      </span>
      {head.cutOff === true && head.exit !== undefined && (
        <Badge tone="warning" title="the tape has no seal: its end is missing">
          cut off
        </Badge>
      )}
      {head.tornBytes > 0 && (
        <Badge tone="warning" title="the recording was cut off while it was written">
          {`${count(head.tornBytes)} bytes at the end could not be read`}
        </Badge>
      )}
      {head.redacted === true && <Badge>redacted</Badge>}
      <Notes head={head} />
      <ReportNote />
    </div>
  )
}

function Origin({ head }: { readonly head: RunHead }) {
  const home = useHome()
  const words = originOfRun(head)
  if (words === undefined || head.parent === undefined) return null
  const { at } = head.branch ?? {}
  const isEvent = at?.startsWith('e') === true
  const place = at === undefined ? '' : isEvent ? ` at event ${at.slice(1)}` : ` at step ${at}`
  return (
    <span className="whitespace-nowrap">
      {words}{' '}
      {home.onlyRun === undefined ? (
        <Link
          to="/runs/$run"
          params={{ run: head.parent.run }}
          search={at === undefined || isEvent ? {} : { step: at }}
          className="text-accent underline"
        >
          {head.parent.run}
        </Link>
      ) : (
        head.parent.run
      )}
      {place}
    </span>
  )
}

/** What the recorder met and did not capture: a number that opens a list. */
function Notes({ head: { notCaptured } }: { readonly head: RunHead }) {
  const [isOpen, setOpen] = useState(false)
  if (notCaptured.length === 0) return null
  return (
    <>
      <Button look="quiet" className="h-5 text-sm text-warning" onClick={() => setOpen(true)}>
        {plural(notCaptured.length, 'thing')} not captured
      </Button>
      <Dialog title="Not captured" isOpen={isOpen} onClose={() => setOpen(false)}>
        <ul className="flex flex-col gap-3">
          {notCaptured.map(({ what, at, why, consequence, count: times }) => (
            <li key={`${what} ${at}`}>
              <p>
                <span className="font-mono text-warning">{what}</span>
                {times > 1 && ` (${times} times)`}
                {at !== undefined && (
                  <span className="ml-2 font-mono text-sm text-muted">{at}</span>
                )}
              </p>
              <p>{consequence}</p>
              {why !== undefined && <p className="text-muted">{why}</p>}
            </li>
          ))}
        </ul>
      </Dialog>
    </>
  )
}
