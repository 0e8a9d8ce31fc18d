import { getRouteApi } from '@tanstack/react-router'
import { RunActions } from '../change/run-actions.js'
import { PageFrame } from '../shell/page-frame.js'
import { useRun } from './use-run.js'
import { StepList } from './step-list.js'
import { StepPanel } from '../step/step-panel.js'

const route = getRouteApi('/runs/$run')

/** One run: timeline, list of steps, and the step that is looked at. */
export function RunPage() {
  const { run } = route.useParams()
  return <OpenRun key={run} id={run} />
}

function OpenRun({ id }: { readonly id: string }) {
  const { run, error } = useRun(id)
  if (error) return <p role="alert">{error.message}</p>
  if (run === undefined) return <p>Opening…</p>
  return (
    <PageFrame title={run.head.name} actions={<RunActions run={run} />}>
      <div className="flex h-full min-h-0">
        <StepList run={run} />
        <StepPanel run={run} />
      </div>
    </PageFrame>
  )
}
