import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Job } from '../../api/job.js'
import { isOver, useJobs } from '../change/jobs.js'
import { SearchNote } from '../search/search-note.js'
import { useHomeStatus } from './home-status.js'

/** One line at the bottom of every page: what the page says, what runs, and whether the connection is lost. */
export function StatusLine({ children }: { readonly children?: ReactNode }) {
  const { isConnected, lost } = useHomeStatus()
  const busy = useJobs().filter((job) => !isOver(job))
  return (
    <footer className="flex h-6 shrink-0 items-center gap-4 border-t border-line bg-raised px-3 text-sm whitespace-nowrap text-muted">
      <div className="min-w-0 flex-1 truncate">{children}</div>
      <SearchNote />
      {busy.map((job) => (
        <JobNote key={job.id} job={job} />
      ))}
      <output className="contents">
        {!isConnected && (
          <span className="-mr-3 flex h-full items-center bg-warning-soft px-3 text-warning">
            {lost === undefined
              ? 'Connection lost, trying again…'
              : `${lost.what} ${lost.fix ?? ''}`}
          </span>
        )}
      </output>
    </footer>
  )
}

function JobNote({ job }: { readonly job: Job }) {
  const words = `${job.kind} ${job.name ?? job.run} ${job.state === 'waiting' ? 'waits' : 'runs'}`
  if (!job.written) return <span>{words}</span>
  return (
    <Link to="/runs/$run" params={{ run: job.run }} search={{}} className="text-accent underline">
      {words}
    </Link>
  )
}
