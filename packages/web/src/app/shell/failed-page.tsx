import { useRouter } from '@tanstack/react-router'
import { AllRunsLink, Button, buttonLook, RunLink } from '../design/button.js'
import { EmptyNote, ErrorNote } from '../design/notes.js'
import { CopyButton } from '../design/toast.js'
import { useBackend } from '../sources/backend.js'
import { PageFrame } from './page-frame.js'

export function FailedPage({ error, reset }: { error: unknown; reset: () => void }) {
  const router = useRouter()
  const again = (): void => {
    reset()
    void router.invalidate()
  }
  // Details for a bug report, without content of a tape except the error message.
  return (
    <PageFrame title="This page failed" documentTitle="Failed">
      <div className="mx-auto flex max-w-160 flex-col gap-3 p-4">
        <p>The page could not be rendered. This is a bug in the viewer; the tape is unchanged.</p>
        <ErrorNote
          error={error}
          actions={
            <>
              <Button onClick={again}>Try again</Button>
              <CopyButton
                showsLabel
                label="Copy details"
                text={() =>
                  [
                    error instanceof Error ? (error.stack ?? String(error)) : String(error),
                    `at ${location.pathname}${location.hash}`,
                    navigator.userAgent,
                  ].join('\n\n')
                }
              />
              <AllRunsLink />
            </>
          }
        />
      </div>
    </PageFrame>
  )
}

export function NotFoundPage() {
  const { onlyRun } = useBackend()
  return (
    <PageFrame title="Nothing here">
      <EmptyNote title="There is no page at this address.">
        {onlyRun === undefined ? (
          <AllRunsLink look="primary" />
        ) : (
          <RunLink
            run={onlyRun}

            className={buttonLook('primary')}
          >
            The run of this report
          </RunLink>
        )}
      </EmptyNote>
    </PageFrame>
  )
}

export const FailedStart = ({ error }: { error: unknown }) => (
  <main className="mx-auto flex max-w-160 flex-col gap-3 p-4">
    <h1 className="text-xl">Retake</h1>
    <p>The viewer could not be started.</p>
    <ErrorNote
      error={error}
      actions={<Button onClick={() => location.reload()}>Try again</Button>}
    />
  </main>
)
