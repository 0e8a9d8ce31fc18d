import { ErrorNote } from '../design/error-note.js'
import { Spinner } from '../design/spinner.js'

/** What stands where something is not there yet, or could not be had. */
export function QueryNote({ what, error }: { readonly what: string; readonly error: unknown }) {
  return (
    <div className="p-3">
      {error === null || error === undefined ? (
        <Spinner label={`Reading ${what}`} />
      ) : (
        <ErrorNote error={error} />
      )}
    </div>
  )
}
