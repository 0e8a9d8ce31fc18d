import type { Tape } from '@retake/tape'
import { looseTape, openTape } from '@retake/tape/node'
import { makeReport } from '@retake/web'
import { project } from '../config/project.js'
import { plural } from '../facts.js'
import type { Pattern } from '../redact/patterns.js'
import { maskBlame } from '../redact/mask-blame.js'
import { maskStates } from '../redact/mask-states.js'
import { redactRun, type RedactedRun } from '../redact/redact-run.js'
import { version } from '../version.js'
import { statusOf } from '../run-summary.js'
import { viewRun } from '../view-run.js'
import { embeddedTapes } from './embedded-tapes.js'
import { gatherBlame } from './gather-blame.js'
import { gatherParts } from './gather-parts.js'
import { tapeLine } from './tape-line.js'

export interface ReportOptions {
  readonly withSource: boolean
  /** What must not be seen. */
  readonly redact: readonly Pattern[]
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
export function reportRun(file: string, options: ReportOptions): MadeReport {
  const { withSource, redact, onStage = () => {} } = options
  onStage('reading the tape')
  const whole = embeddedTapes(tapeLine(file))
  const tape = openTape(file)
  const status = statusOf(viewRun(tape), tape)
  const { states, sources } = gatherParts(tape, { withSource })
  const { blame, notes: blameNotes } = gatherBlame(tape)
  if (redact.length > 0) onStage('redacting')
  const redacted = redact.length > 0 ? redactRun(file, redact) : undefined
  try {
    const hide = <T>(value: T): T => (redacted ? (redacted.mask.deep(value) as T) : value)
    const content = {
      tapes: redacted ? redacted.files.map((each) => looseTape(each)) : whole,
      run: tape.run.id,
      title: hide(tape.run.name),
      madeAt: Date.now(),
      version: version(),
      status,
      redacted: redacted !== undefined,
      tornBytes: tape.tornBytes,
      prices: project().prices,
      states: redacted ? maskStates(states, redacted.mask) : states,
      sources: hide(sources),
      ...(blame && { blame: redacted ? maskBlame(blame, redacted.mask) : blame }),
    }
    const notes = [
      ...notesOf(tape, status),
      ...blameNotes,
      ...(redacted ? redactionNotes(redacted, redact) : []),
    ]
    onStage('writing the report')
    const html = makeReport({ ...content, notes })
    return { html, run: tape.run.id, notes, rawBytes: rawBytesOf(tape) }
  } finally {
    redacted?.dispose()
  }
}

/** What was hidden, without naming it: an expression may hold the very value. */
function redactionNotes({ mask, blanked }: RedactedRun, patterns: readonly Pattern[]): string[] {
  const names = patterns.flatMap(({ name }) => name ?? [])
  const others = patterns.length - names.length
  const what = [...names, ...(others > 0 ? [plural(others, 'pattern')] : [])].join(', ')
  return [
    `Redacted (${what}): ${plural(mask.hidden, 'value')} hidden behind *.`,
    ...(blanked.length > 0
      ? [
          `Answers taken out as a whole, since a value was spread over their parts: step ${blanked.join(', ')}.`,
        ]
      : []),
  ]
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
