import { ErrorNote } from '../design/error-note.js'
import type { Reading } from './run-reader.js'

/** What keeps an open run from being read on; what was read of it is still shown. */
export function RunTrouble({ reading: { isGone, isLost, error } }: { readonly reading: Reading }) {
  if (isGone)
    return (
      <p role="alert" className="border-b border-line bg-warning-soft px-3 py-1 text-warning">
        This run was deleted. Its steps are still listed as they were read; what was not opened
        before is gone.
      </p>
    )
  // The line at the bottom of the page says that the connection is lost.
  if (isLost || error === undefined) return null
  return (
    <div className="border-b border-line p-2">
      <ErrorNote error={error} />
    </div>
  )
}
