import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { EmptyNote } from '../design/empty-note.js'
import { ErrorNote } from '../design/error-note.js'
import { Spinner } from '../design/spinner.js'
import { PageFrame } from '../shell/page-frame.js'
import type { LiveActions } from '../sources/live-actions.js'
import { useHome } from '../sources/viewer-home.js'
import { countRuns } from './branch-rows.js'
import { BranchTree } from './branch-tree.js'

export interface BranchesProps {
  readonly run: string
  readonly live: LiveActions
}

/** Changes come in bursts while a branch runs; so often the tree is read again at most. */
const READ_AGAIN_MS = 500

/** The tree that a run belongs to, kept up to date. */
export function Branches({ run, live }: BranchesProps) {
  const home = useHome()
  const client = useQueryClient()
  const { data, error, isPending } = useQuery({
    queryKey: ['branches', run],
    queryFn: () => live.branches(run),
    staleTime: 0,
  })
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const unwatch = home.watch((change) => {
      if (change.type === 'connection' && change.state === 'lost') return
      timer ??= setTimeout(() => {
        timer = undefined
        void client.invalidateQueries({ queryKey: ['branches', run] })
      }, READ_AGAIN_MS)
    })
    return () => {
      clearTimeout(timer)
      unwatch()
    }
  }, [home, client, run])
  const name = data?.name ?? run
  const count = data === undefined ? 0 : countRuns(data) - 1
  return (
    <PageFrame
      title="Branches"
      documentTitle={`Branches of ${name}`}
      crumbs={[{ title: name, link: { to: '/runs/$run', params: { run }, search: {} } }]}
      status={data && (count === 1 ? '1 branch' : `${count} branches`)}
    >
      <div className="relative h-full overflow-auto">
        <div className="flex flex-col gap-3 p-3">
          {isPending && <Spinner label="Reading the branches…" />}
          {error !== null && <ErrorNote error={error} />}
          {data !== undefined && <BranchTree root={data} run={run} />}
          {data?.branches.length === 0 && (
            <EmptyNote title="Nothing was tried from this run yet.">
              <p>Open a step of it and fork there: another answer, another question.</p>
            </EmptyNote>
          )}
          {data?.unreadable !== undefined && (
            <ErrorNote
              error={{
                code: 'UNEXPECTED',
                what: `Tapes that cannot be read, and may be branches of it: ${data.unreadable.join(', ')}`,
              }}
            />
          )}
        </div>
      </div>
    </PageFrame>
  )
}
