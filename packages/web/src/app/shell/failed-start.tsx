import { Button } from '../design/button.js'
import { ErrorNote } from '../design/error-note.js'

/** All that can be shown when there is no home: what happened, and to try again. */
export function FailedStart({ error }: { readonly error: unknown }) {
  return (
    <main className="mx-auto flex max-w-160 flex-col gap-3 p-4">
      <h1 className="text-xl">Retake</h1>
      <p>The viewer could not be started.</p>
      <ErrorNote
        error={error}
        actions={<Button onClick={() => location.reload()}>Try again</Button>}
      />
    </main>
  )
}
