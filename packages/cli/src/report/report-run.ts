import type { Tape } from '@retake/tape'
import { looseTape } from '@retake/tape/node'
import { makeReport } from '@retake/web'
import { project } from '../config/project.js'
import { version } from '../version.js'
import { gatherParts, openForReport } from './gather-parts.js'
import { tapeLine } from './tape-line.js'

export interface ReportOptions {
  readonly withSource: boolean
  /** Told what is being done now. */
  readonly onStage?: (what: string) => void
}

export interface MadeReport {
  readonly html: string
  readonly run: string
  /** What a reader has to know about it; it stands in the report, too. */
  readonly notes: readonly string[]
  /** Bytes of everything that was sent, received and written in the run. */
  readonly rawBytes: number
}

/** Makes the page that shows a run wherever it is opened. */
export async function reportRun(file: string, options: ReportOptions): Promise<MadeReport> {
  const { withSource, onStage = () => {} } = options
  onStage('reading the tape')
  const tapes = tapeLine(file).map((each) => looseTape(each))
  const opened = await openForReport(file)
  const { tape, status } = opened.model
  const parts = gatherParts(opened, { withSource })
  const notes = notesOf(tape, status)
  onStage('writing the report')
  const html = makeReport({
    tapes,
    run: tape.run.id,
    title: tape.run.name,
    madeAt: Date.now(),
    version: version(),
    notes,
    status,
    redacted: false,
    tornBytes: tape.tornBytes,
    prices: project().prices,
    ...parts,
  })
  return { html, run: tape.run.id, notes, rawBytes: rawBytesOf(tape) }
}

function notesOf(tape: Tape, status: string): string[] {
  if (tape.status !== 'truncated') return []
  return [
    status === 'recording'
      ? `The run was still being recorded: the report shows its first ${tape.count} events.`
      : `The tape ends without an end of the run: the report shows the ${tape.count} events that are whole.`,
  ]
}

function rawBytesOf(tape: Tape): number {
  let bytes = 0
  for (let seq = 0; seq < tape.count; seq++) bytes += tape.bodySize(seq)
  return bytes
}
