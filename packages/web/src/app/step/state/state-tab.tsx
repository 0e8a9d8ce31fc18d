import { QueryNote } from '../query-note.js'
import { useQuery } from '@tanstack/react-query'
import { LiveState } from '../../change/live-state.js'
import { useHome } from '../../sources/viewer-home.js'
import { copyAndSay } from '../copy/copy-and-say.js'
import type { TabProps } from '../tabs/tab-props.js'
import { StateDetail } from './state-detail.js'

/** The agent's variables when it had this answer: as captured, and where it can be, alive. */
export function StateTab({ run, detail }: TabProps) {
  const { live } = useHome()
  const state = useQuery({
    queryKey: ['state', run.id, detail.label],
    queryFn: async () => (await run.source.state(detail.label)) ?? null,
    staleTime: 0,
  })
  const command = `retake snapshot ${run.id}`
  return (
    <div className="flex flex-col gap-3 p-3">
      {live !== undefined && <LiveState run={run} step={detail.label} />}
      {state.data === undefined && <QueryNote what="the state" error={state.error} />}
      {state.data === null && (
        <div className="text-muted">
          <p>No variables were captured at this step. To capture them at every step, run</p>
          <p className="mt-1 flex items-center gap-2">
            <code className="rounded bg-sunken px-2 py-1 font-mono text-sm text-text">
              {command}
            </code>
            <button
              type="button"
              className="text-sm text-accent hover:underline"
              onClick={() => void copyAndSay('the command', command)}
            >
              Copy
            </button>
          </p>
        </div>
      )}
      {state.data && <StateDetail state={state.data} />}
    </div>
  )
}
