import { Link, useRouter } from '@tanstack/react-router'
import { Button } from '../design/button.js'
import { buttonLook } from '../design/button-look.js'
import { CopyButton } from '../design/copy-button.js'
import { ErrorNote } from '../design/error-note.js'
import { PageFrame } from './page-frame.js'

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
