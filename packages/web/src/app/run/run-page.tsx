import type { RunTotals } from '@retake/tape'
import {
  cost,
  costText,
  count,
  duration,
  KINDS,
  localDateTime,
  localTime,
  namesCauses,
  plural,
  runEnd,
  stepCountsText,
  STATES,
  tokensText,
} from '@retake/tape/present'
import { getRouteApi } from '@tanstack/react-router'
import { type ReactNode, useMemo, useState } from 'react'
import type { RunHead } from '../../model/run-source.js'
import type { BlameView } from '../blame/blame-view.js'
import { useBlame } from '../blame/use-blame.js'
import { openFork } from '../change/fork-draft.js'
import { ListedRunStatus, WaitingApprovals } from '../change/waiting-approvals.js'
import { Badge, ImportedBadge } from '../design/badge.js'
import { AllRunsLink, Button, RunLink, TextButton } from '../design/button.js'
import { Dialog } from '../design/dialog.js'
import { lazyPart } from '../design/lazy-part.js'
import { ErrorNote } from '../design/notes.js'
import { PageFrame } from '../shell/page-frame.js'
import { useBackend } from '../sources/backend.js'
import { VisibleText } from '../values/text.js'
import type { RowStore } from './data/row-store.js'
import { type Reading, type Run, useRows, useRun } from './data/use-run.js'
import { RunWorkspace } from './run-workspace.js'
import { useFilter, useList, useNarrow, useSelection } from './data/use-selection.js'

const [MODEL, CRASH, FAILED] = [
  KINDS.indexOf('model'),
  KINDS.indexOf('crash'),
  STATES.indexOf('failed'),
]

const BRANCH_WORDS = {
  fork: 'forked from',
  rerun: 'rerun of',
  resume: 'resumed from',
  chaos: 'chaos of',
} as const

const originOfRun = ({ branch, parent }: RunHead): string | undefined =>
  branch === undefined || parent === undefined ? undefined : BRANCH_WORDS[branch.kind]

function countSteps({ columns }: RowStore) {
  let [failed, answered, counted] = [0, 0, 0]
  for (let index = 0; index < columns.length; index++) {
    const [kind, isFailed] = [columns.kind[index], columns.state[index] === FAILED]
    if (isFailed && kind !== CRASH) failed += 1
    if (isFailed || kind !== MODEL) continue
    answered += 1
    if (!Number.isNaN(columns.tokensIn[index])) counted += 1
  }
  return { failed, answered, counted }
}

/** Explains the outcome in one line. Empty for a run that ended normally. */
function RunOutcome({ run }: { run: Run }) {
  const { head } = run
  const { view: blame } = useBlame(run)
  const { select } = useSelection()
  const end = runEnd(head)
  const { exitStep } = head
  if (end === undefined && blame === undefined && originOfRun(head) === undefined) return null
  return (
    <div className="flex shrink-0 flex-col gap-y-0.5 border-b border-line px-3 py-1.5">
      {end !== undefined && (
        <p
          className={`line-clamp-2 text-lg font-medium wrap-anywhere ${head.status === 'failed' ? 'text-danger' : ''}`}
          title={end}
        >
          {exitStep === undefined ? (
            end
          ) : (
            <button
              type="button"
              className="text-left hover:underline"
              title={`${end}: show where`}
              onClick={() => select(exitStep)}
            >
              {end}
            </button>
          )}
        </p>
      )}
      {blame !== undefined && <BlameOutcome run={run} view={blame} />}
      <Origin head={head} />
    </div>
  )
}

function BlameOutcome({ run, view }: { run: Run; view: BlameView }) {
  const { select } = useSelection()
  const { list, show } = useList()
  const { live } = useBackend()
  const { findings, blame } = view
  const [label] = namesCauses(findings) ? view.causeLabels : []
  return (
    <p className="flex flex-wrap items-baseline gap-x-2 gap-y-0.5">
      {label === undefined ? (
        <span className="text-lg font-medium">{view.sentence}</span>
      ) : (
        <button
          type="button"
          className="text-left text-lg font-medium text-danger hover:underline"
          onClick={() => select(label)}
        >
          {view.sentence}
        </button>
      )}
      <span className="min-w-0 text-muted wrap-anywhere">
        check <VisibleText text={blame.oracle} className="font-mono text-sm text-text" />
      </span>
      {label !== undefined && live !== undefined && (
        <TextButton
          onClick={() => {
            select(label)
            openFork(run.id, label)
          }}
        >
          Fork with a fix
        </TextButton>
      )}
      {list !== 'blame' && <TextButton onClick={() => show('blame')}>Evidence</TextButton>}
    </p>
  )
}

/** Figures of the run, and warnings about its recording. */
function RunFacts({ run: { head, rows } }: { run: Run }) {
  const version = useRows(rows)
  const { totals } = rows
  // oxlint-disable-next-line react/exhaustive-deps -- the version changes with the rows
  const { failed, ...counts } = useMemo(() => countSteps(rows), [rows, version])
  const facts = [
    plural(rows.isComplete ? rows.steps : head.recordedSteps, 'step'),
    rows.inferred > 0 ? plural(rows.inferred, 'inferred tool call') : undefined,
    totals?.modelCalls ? plural(totals.modelCalls, 'model call') : undefined,
    totals?.toolCalls ? plural(totals.toolCalls, 'tool call') : undefined,
    totals?.modelCalls ? tokensText(totals, counts) : undefined,
    totals?.modelCalls ? costSoFar(totals, head) : undefined,
    duration(head.durationMs),
    head.lanes.length > 1 ? plural(head.lanes.length, 'lane') : undefined,
  ].filter((fact) => fact !== undefined)
  return (
    <div className="flex min-w-0 flex-1 flex-wrap items-center gap-x-3 gap-y-0.5 text-muted">
      {failed > 0 && <FailedLink count={failed} />}
      {facts.map((fact) => (
        <span key={fact} className="whitespace-nowrap">
          {fact}
        </span>
      ))}
      <span
        className="whitespace-nowrap max-sm:hidden"
        title={[head.node.replace(/^v/, 'Node '), head.platform, ...head.command]
          .filter(Boolean)
          .join(' ')}
      >
        {localTime(head.startedAt)}
      </span>
      {head.recorded === 'import' && <ImportedBadge />}
      {head.tornBytes > 0 && (
        <Badge tone="warning" title="The recording was interrupted during a write.">
          {`${count(head.tornBytes)} bytes at the end could not be read`}
        </Badge>
      )}
      {head.redacted === true && <Badge>redacted</Badge>}
      <Notes head={head} />
      <ReportNote />
    </div>
  )
}

/** While a run is recorded, an unknown price is only not known yet. */
function costSoFar(totals: RunTotals, { status }: RunHead): string | undefined {
  if (status !== 'recording') return costText(totals)
  return totals.knownCostUsd > 0 ? `${cost(totals.knownCostUsd)} so far` : undefined
}

function FailedLink({ count: failed }: { count: number }) {
  const { filter, change } = useFilter()
  const isOn = filter.state?.join() === 'failed'
  return (
    <button
      type="button"
      aria-pressed={isOn}
      title={isOn ? 'Show all steps' : 'Show only failed steps'}
      className="h-5 rounded-sm bg-danger-soft px-1.5 whitespace-nowrap text-danger hover:underline aria-pressed:outline-1 aria-pressed:outline-danger"
      onClick={() => change({ state: isOn ? undefined : ['failed'] })}
    >
      {count(failed)} failed
    </button>
  )
}

/** A run that failed the check of a blame search counts as failed. */
function RunPageStatus({ run }: { run: Run }) {
  const { view } = useBlame(run)
  const { status } = run.head
  return <ListedRunStatus run={{ id: run.id, status, ...(view && { failedCheck: true }) }} />
}

function Origin({ head }: { head: RunHead }) {
  const backend = useBackend()
  const words = originOfRun(head)
  if (words === undefined || head.parent === undefined) return null
  const { at } = head.branch ?? {}
  const isEvent = at?.startsWith('e') === true
  const index = at === undefined ? '' : isEvent ? ` at event ${at.slice(1)}` : ` at step ${at}`
  return (
    <span className="text-sm wrap-anywhere">
      {words}{' '}
      {backend.onlyRun === undefined ? (
        <RunLink
          run={head.parent.run}
          step={isEvent ? undefined : at}
          className="text-accent underline"
        >
          {head.parent.run}
        </RunLink>
      ) : (
        head.parent.run
      )}
      {index}
    </span>
  )
}

interface NoteButtonProps {
  readonly text: string
  readonly tone: string
  readonly title: string
  readonly children: ReactNode
}

function NoteButton({ text, tone, title, children }: NoteButtonProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button look="quiet" className={`h-5 text-sm ${tone}`} onClick={() => setOpen(true)}>
        {text}
      </Button>
      <Dialog title={title} isOpen={isOpen} onClose={() => setOpen(false)}>
        <div className="flex flex-col gap-3">{children}</div>
      </Dialog>
    </>
  )
}

const Notes = ({ head: { notCaptured } }: { head: RunHead }) =>
  notCaptured.length > 0 && (
    <NoteButton
      text={`${plural(notCaptured.length, 'thing')} not captured`}
      tone="text-warning"
      title="Not captured"
    >
      <ul className="contents">
        {notCaptured.map(({ what, at, why, consequence, count: times }) => (
          <li key={`${what} ${at}`}>
            <p>
              <span className="font-mono text-warning">{what}</span>
              {times > 1 && ` (${times} times)`}
              {at !== undefined && <span className="ml-2 font-mono text-sm text-muted">{at}</span>}
            </p>
            <p>{consequence}</p>
            {why !== undefined && <p className="text-muted">{why}</p>}
          </li>
        ))}
      </ul>
    </NoteButton>
  )

function ReportNote() {
  const { report } = useBackend()
  if (report === undefined) return null
  const { notes, madeAt, version } = report
  return (
    <NoteButton
      text={notes.length > 0 ? `report with ${notes.length === 1 ? 'a note' : 'notes'}` : 'report'}
      tone={notes.length > 0 ? 'text-warning' : 'text-muted'}
      title="About this report"
    >
      {notes.map((note) => (
        <p key={note}>{note}</p>
      ))}
      <p>
        It contains the tape of this run and the viewer. It loads nothing and sends nothing, and
        does not change when the run or its source files do.
      </p>
      <p className="text-muted">
        Made on {localDateTime(madeAt)} with Retake {version}.
      </p>
    </NoteButton>
  )
}

/** Not in reports. */
const RunToolbar =
  __REPOSITORY__ === 'live'
    ? lazyPart(async () => (await import('../change/run-toolbar.js')).RunToolbar)
    : () => null

const route = getRouteApi('/runs/$run')

export function RunPage() {
  const { run } = route.useParams()
  return <OpenRun key={run} id={run} />
}

function OpenRun({ id }: { id: string }) {
  const { run, reading } = useRun(id)
  const { onlyRun } = useBackend()
  const isNarrow = useNarrow()
  const { step } = useSelection()
  if (run === undefined)
    return (
      <PageFrame title={id}>
        {reading.error === undefined ? (
          <p className="p-4 text-muted">Opening…</p>
        ) : (
          <div className="m-4 max-w-200">
            <ErrorNote error={reading.error} actions={onlyRun === undefined && <AllRunsLink />} />
          </div>
        )}
      </PageFrame>
    )
  const { damage, events } = run.head
  return (
    <PageFrame
      title={
        <>
          <span className="font-medium">{run.head.name}</span>
          <span className="ml-2">
            <RunPageStatus run={run} />
          </span>
          <span className="ml-2 font-mono text-sm text-muted">{id}</span>
        </>
      }
      documentTitle={run.head.name}
      run={run}
      actions={<RunToolbar run={run} />}
      status={<RunStatusLine run={run} hasFailed={reading.error !== undefined} />}
    >
      <div className="flex h-full min-h-0 flex-col">
        {damage !== undefined && (
          <p
            role="alert"
            className="shrink-0 border-b border-line bg-danger-soft px-3 py-1.5 text-danger"
          >
            {`The tape is damaged at event ${count(damage.event)}: ${damage.why}. Only the ${plural(events, 'event')} before it are shown.`}
          </p>
        )}
        {!(isNarrow && step !== undefined) && <RunOutcome run={run} />}
        <RunTrouble reading={reading} />
        <WaitingApprovals run={run} />
        <RunWorkspace run={run} facts={<RunFacts run={run} />} />
      </div>
    </PageFrame>
  )
}

function RunStatusLine({ run: { head, rows }, hasFailed }: { run: Run; hasFailed: boolean }) {
  useRows(rows)
  if (!rows.isComplete && hasFailed)
    return rows.recorded < head.recordedSteps
      ? `${count(rows.recorded)} of ${plural(head.recordedSteps, 'step')} could be read`
      : 'totals could not be read'
  if (!rows.isComplete && rows.recorded < head.recordedSteps)
    return `reading ${count(rows.recorded)} of ${plural(head.recordedSteps, 'step')}`
  if (!rows.isComplete) return 'reading totals'
  return head.status === 'recording'
    ? `recording · ${stepCountsText(rows)} so far`
    : `${stepCountsText(rows)}, ${plural(head.events, 'event')}`
}

/** Problems while reading a run. The part that was read is still shown. */
function RunTrouble({ reading: { isGone, isLost, error } }: { reading: Reading }) {
  if (isGone)
    return (
      <p role="alert" className="border-b border-line bg-warning-soft px-3 py-1 text-warning">
        This run was deleted. Parts that were already loaded are still shown; the rest is gone.
      </p>
    )
  // The status line reports a lost connection.
  if (isLost || error === undefined) return null
  return (
    <div className="border-b border-line p-2">
      <ErrorNote error={error} />
    </div>
  )
}
