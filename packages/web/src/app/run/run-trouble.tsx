import type { Explained } from '../../model/run-head.js'
import type { Reading } from './run-reader.js'

/** What keeps an open run from being read on; what was read of it is still shown. */
export function RunTrouble({ reading }: { readonly reading: Reading }) {
  const { isGone, isLost, error } = reading
  const text = isGone
    ? 'This run was deleted. What you see is what was read of it; steps that were not opened cannot be shown.'
    : isLost
      ? 'The connection is lost. What was read stays; the rest comes when it is back.'
      : error && [error.what, error.why, error.fix].filter(Boolean).join(' ')
  if (text === undefined) return null
  return (
    <p role="alert" className="border-b border-line bg-warning-soft px-3 py-1 text-warning">
      {text}
    </p>
  )
}

/** A run that cannot be shown at all, and why. */
export function Unreadable({ error }: { readonly error: Explained }) {
  return (
    <div role="alert" className="m-4 max-w-200 rounded border border-danger bg-danger-soft p-4">
      <p className="font-medium text-danger">{error.what}</p>
      {error.why !== undefined && <p className="mt-2">{error.why}</p>}
      {error.fix !== undefined && <p className="mt-2">{error.fix}</p>}
      {error.code !== '' && <p className="mt-2 font-mono text-sm text-muted">{error.code}</p>}
    </div>
  )
}
