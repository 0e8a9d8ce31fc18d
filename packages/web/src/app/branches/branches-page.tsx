import { useParams } from '@tanstack/react-router'
import { EmptyNote } from '../design/empty-note.js'
import { useHome } from '../sources/viewer-home.js'
import { Branches } from './branches.js'

/** What was forked from a run, from the first run down, with what each came to. */
export function BranchesPage() {
  const { live } = useHome()
  const { run = '' } = useParams({ strict: false })
  if (live === undefined)
    return <EmptyNote title="A report holds one run; there are no branches." />
  return <Branches key={run} run={run} live={live} />
}
