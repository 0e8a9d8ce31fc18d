import { Link, useRouter } from '@tanstack/react-router'
import { Button, buttonLook } from '../design/button.js'
import { CopyButton } from '../design/toast.js'
import { EmptyNote, ErrorNote } from '../design/notes.js'
import { PageFrame } from './page-frame.js'
import { useBackend } from '../sources/viewer-home.js'

/** Stands in for a page that failed: what happened, and the way back. */
export function FailedPage({
  error,
  reset,
}: {
  readonly error: unknown
  readonly reset: () => void
}) {
  const router = useRouter()
  const again = (): void => {
    reset()
    void router.invalidate()
  }
  return (
    <PageFrame title="This page failed" documentTitle="Failed">
      <div className="mx-auto flex max-w-160 flex-col gap-3 p-4">
        <p>
          The page could not be drawn. The tape is not touched by this; what went wrong is in the
          viewer.
        </p>
        <ErrorNote
          error={error}
          actions={
            <>
              <Button onClick={again}>Try again</Button>
              <CopyButton showsLabel label="Copy details" text={() => detailsOf(error)} />
              <Link to="/" className={buttonLook()}>
                All runs
              </Link>
            </>
          }
        />
      </div>
    </PageFrame>
  )
}

/** What somebody who mends it needs to know; no content of a tape is among it but what the error says. */
const detailsOf = (error: unknown): string =>
  [
    error instanceof Error ? (error.stack ?? String(error)) : String(error),
    `at ${location.pathname}${location.hash}`,
    navigator.userAgent,
  ].join('\n\n')

/** There is nothing at this address. */
export function NotFoundPage() {
  const { onlyRun } = useBackend()
  return (
    <PageFrame title="Nothing here">
      <EmptyNote title="There is no page at this address.">
        {onlyRun === undefined ? (
          <Link to="/" className={buttonLook('primary')}>
            All runs
          </Link>
        ) : (
          <Link
            to="/runs/$run"
            params={{ run: onlyRun }}
            search={{}}
            className={buttonLook('primary')}
          >
            The run of this report
          </Link>
        )}
      </EmptyNote>
    </PageFrame>
  )
}

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
