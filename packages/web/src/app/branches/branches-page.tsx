import { useParams } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { EmptyNote } from '../design/empty-note.js'
import { useHome } from '../sources/viewer-home.js'

/** A report holds one run, and does not carry this. */
const Branches =
  __HOME__ === 'live'
    ? lazy(async () => ({ default: (await import('./branches.js')).Branches }))
    : () => null

/** What was forked from a run, from the first run down, with what each came to. */
export function BranchesPage() {
  const { live } = useHome()
  const { run = '' } = useParams({ strict: false })
  if (live === undefined)
    return <EmptyNote title="A report holds one run; there are no branches." />
  return (
    <Suspense>
      <Branches key={run} run={run} live={live} />
    </Suspense>
  )
}
