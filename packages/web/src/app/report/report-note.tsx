import { useState } from 'react'
import { localDateTime } from '@retake/tape/present'
import { Button } from '../design/button.js'
import { Dialog } from '../design/dialog.js'
import { useHome } from '../sources/viewer-home.js'

/** In a report: when it was made, and what its reader has to know. Elsewhere nothing. */
export function ReportNote() {
  const { report } = useHome()
  const [isOpen, setOpen] = useState(false)
  if (report === undefined) return null
  const { notes, madeAt, version } = report
  return (
    <>
      <Button
        look="quiet"
        className={`h-5 text-sm ${notes.length > 0 ? 'text-warning' : 'text-muted'}`}
        onClick={() => setOpen(true)}
      >
        {notes.length > 0 ? `report with ${notes.length === 1 ? 'a note' : 'notes'}` : 'report'}
      </Button>
      <Dialog title="About this report" isOpen={isOpen} onClose={() => setOpen(false)}>
        <div className="flex flex-col gap-3">
          {notes.map((note) => (
            <p key={note}>{note}</p>
          ))}
          <p>
            It holds the tape of this one run and the viewer. It loads nothing and sends nothing,
            and does not change when the run or its source files do.
          </p>
          <p className="text-muted">
            Made on {localDateTime(madeAt)} with Retake {version}.
          </p>
        </div>
      </Dialog>
    </>
  )
}
