import { queryOptions, useQuery } from '@tanstack/react-query'
import { lazyPart } from '../design/lazy-part.js'
import { QueryNote } from '../design/notes.js'
import { CopyCommand } from '../design/toast.js'
import type { Run } from '../run/data/use-run.js'
import { useBackend } from '../sources/backend.js'
import type { TabProps } from '../values/field.js'
import { StateDetail } from './state-detail.js'

/** Not in reports. */
const ProgramState =
  __REPOSITORY__ === 'live'
    ? lazyPart(async () => (await import('./program-state.js')).ProgramState)
    : () => null

export const stateQuery = (run: Run, label: string) =>
  queryOptions({
    queryKey: ['state', run.id, label],
    queryFn: async () => (await run.source.state(label)) ?? null,
    staleTime: 0,
  })

export function StateTab({ run, detail }: TabProps) {
  const { live } = useBackend()
  const { kind, label, parent } = detail
  // A program cannot be paused after a crash, so the last step before it is used.
  const step = kind === 'crash' ? (parent ?? label) : label
  const { data, error } = useQuery(stateQuery(run, label))
  const captured = data ? (
    <StateDetail state={data} />
  ) : data === null ? (
    <>
      <p className="text-muted">
        No variables were captured at this step. To capture them at every step, run
      </p>
      <CopyCommand command={`retake debug snapshot ${run.id}`} />
    </>
  ) : (
    <QueryNote what="the state" error={error} />
  )
  return (
    <div className="flex flex-col gap-3 p-3">
      {live === undefined ? (
        captured
      ) : (
        <ProgramState run={run} live={live} step={step} captured={captured} />
      )}
    </div>
  )
}
