import { useParams } from '@tanstack/react-router'
import { EmptyNote } from '../design/empty-note.js'
import { useHome } from '../sources/viewer-home.js'
import { ComparedRuns } from './compared-runs.js'

/** Two runs side by side. */
export function ComparePage() {
  const { live } = useHome()
  const { a = '', b = '' } = useParams({ strict: false })
  if (live === undefined) return <EmptyNote title="A report holds one run; there is no other." />
  return <ComparedRuns key={`${a} ${b}`} a={a} b={b} live={live} />
}
