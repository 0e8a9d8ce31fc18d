import { Link } from '@tanstack/react-router'
import { buttonLook } from '../design/button-look.js'
import { EmptyNote } from '../design/empty-note.js'
import { useHome } from '../sources/viewer-home.js'
import { PageFrame } from './page-frame.js'

/** There is nothing at this address. */
export function NotFoundPage() {
  const { onlyRun } = useHome()
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
