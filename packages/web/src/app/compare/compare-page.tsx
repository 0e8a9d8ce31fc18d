import { lazy, Suspense } from 'react'
import { useParams } from '@tanstack/react-router'
import { EmptyNote } from '../design/empty-note.js'
import { useHome } from '../sources/viewer-home.js'

/** A report holds one run, and does not carry this. */
const ComparedRuns =
  __HOME__ === 'live'
    ? lazy(async () => ({ default: (await import('./compared-runs.js')).ComparedRuns }))
    : () => null

/** Two runs side by side. */
export function ComparePage() {
  const { live } = useHome()
  const { a = '', b = '' } = useParams({ strict: false })
  if (live === undefined) return <EmptyNote title="A report holds one run; there is no other." />
  return (
    <Suspense>
      <ComparedRuns key={`${a} ${b}`} a={a} b={b} live={live} />
    </Suspense>
  )
}
