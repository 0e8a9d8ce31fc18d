import { latePart } from '../design/late-part.js'
import type { Run } from '../run/use-run.js'
import { useHome } from '../sources/viewer-home.js'

/** A report has no use for it, and does not carry it. */
const LiveRunActions =
  __HOME__ === 'live'
    ? latePart(async () => (await import('./live-run-actions.js')).LiveRunActions)
    : () => null

/** What can be done with the whole run: run again, branches, compare. Nothing in a report. */
export function RunActions({ run }: { readonly run: Run }) {
  const { live } = useHome()
  if (live === undefined) return null
  return <LiveRunActions run={run} live={live} />
}
