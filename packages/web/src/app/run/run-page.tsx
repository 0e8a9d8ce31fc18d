import { getRouteApi } from '@tanstack/react-router'
import { RunActions } from '../change/run-actions.js'
import { WaitingApprovals } from '../change/waiting-approvals.js'
import { ErrorNote } from '../design/error-note.js'
import { PageFrame } from '../shell/page-frame.js'
import { RunHeadLine } from './run-head-line.js'
import { RunStatusLine } from './run-status-line.js'
import { RunTrouble } from './run-trouble.js'
import { RunWorkspace } from './run-workspace.js'
import { useNarrow } from './use-narrow.js'
import { useRun } from './use-run.js'
import { useSelection } from './use-selection.js'

const route = getRouteApi('/runs/$run')

/** One run: timeline, list of steps, and the step that is looked at. */
export function RunPage() {
  const { run } = route.useParams()
  return <OpenRun key={run} id={run} />
}

function OpenRun({ id }: { readonly id: string }) {
  const { run, reading } = useRun(id)
  const isNarrow = useNarrow()
  const { step } = useSelection()
  if (run === undefined)
    return (
      <PageFrame title={id}>
        {reading.error === undefined ? (
          <p className="p-4 text-muted">Opening…</p>
        ) : (
          <div className="m-4 max-w-200">
            <ErrorNote error={reading.error} />
          </div>
        )}
      </PageFrame>
    )
  return (
    <PageFrame
      title={<RunTitle name={run.head.name} id={id} />}
      documentTitle={run.head.name}
      run={run}
      actions={<RunActions run={run} />}
      status={<RunStatusLine run={run} hasFailed={reading.error !== undefined} />}
    >
      <div className="flex h-full min-h-0 flex-col">
        {!(isNarrow && step !== undefined) && <RunHeadLine run={run} />}
        <RunTrouble reading={reading} />
        <WaitingApprovals run={run} />
        <RunWorkspace run={run} />
      </div>
    </PageFrame>
  )
}

function RunTitle({ name, id }: { readonly name: string; readonly id: string }) {
  return (
    <>
      <span className="font-medium">{name}</span>
      <span className="ml-2 font-mono text-sm text-muted">{id}</span>
    </>
  )
}
