import {
  attempt,
  type DeliverEvent,
  eventLines,
  type RecordedError,
  type Tape,
  type TapeEvent,
} from '@retake/tape'
import { cutAt, bytesText } from '@retake/tape/present'
import { clip, cutText } from './clip.js'
import type { EventRow, FoundEvents } from './run-source.js'

const LINE = 240
const VALUE = 80
/** Of longer output, only the size is shown. */
const OUTPUT_MAX = 4096

function textOf(tape: Tape, event: TapeEvent): string {
  const size = (): string => bytesText(tape.bodySize(event.seq))
  switch (event.type) {
    case 'run':
      return `${event.name} · ${event.scope} · Node ${event.node} · format ${event.format}`
    case 'note':
      return [event.kind, event.name, event.text, event.site].filter(Boolean).join(' · ')
    case 'end':
      return (
        [
          event.exitCode === undefined ? '' : `exit code ${event.exitCode}`,
          event.signal === undefined ? '' : `signal ${event.signal}`,
          event.error === undefined ? '' : errorText(event.error),
        ]
          .filter(Boolean)
          .join(' · ') || 'the run is over'
      )
    case 'seal':
      return `${event.count} events${event.signature === undefined ? '' : ', signed'}`
    case 'draw':
      return `${event.kind} ${valueText(event.value)}`
    case 'request':
      return `${event.method} ${event.url.replace(/^[a-z]+:\/\//i, '')} · ${size()}`
    case 'call':
      return `${event.name}${event.title === undefined ? '' : ` ${event.title}`}`
    case 'timer':
      return event.kind === 'immediate' ? 'immediate' : `${event.kind} ${event.ms} ms`
    case 'work':
      return event.name
    case 'socket': {
      const { kind, path, host = 'unknown host', port } = event
      return `${kind} ${path ?? (port === undefined ? host : `${host}:${port}`)}`
    }
    case 'response':
      return `${event.status} ${event.statusText} of ${event.op}`
    case 'result':
      return event.error === undefined
        ? `${size()} of ${event.op}`
        : `${errorText(event.error)} · of ${event.op}`
    case 'deliver':
      return deliverText(event, size)
    case 'output': {
      if (tape.bodySize(event.seq) > OUTPUT_MAX) return `${event.stream} ${size()}`
      const text = new TextDecoder().decode(tape.body(event.seq))
      return `${event.stream} ${JSON.stringify(cutAt(text, VALUE * 2))}`
    }
    case 'write':
      return `${size()} to ${event.op}`
  }
}

function deliverText(event: DeliverEvent, size: () => string): string {
  const { part, op, pipe, value, error } = event
  const where = pipe === undefined ? '' : ` on pipe ${pipe}`
  if (part === 'chunk') return `chunk, ${size()}, for event ${op}${where}`
  const outcome = error === undefined ? value !== undefined && valueText(value) : errorText(error)
  return [`${part} of ${op}${where}`, outcome].filter(Boolean).join(' · ')
}

const errorText = ({ name, message, code }: RecordedError): string =>
  `${name}: ${cutAt(message, LINE)}${code === undefined || message.includes(String(code)) ? '' : ` (${code})`}`

/** A value in wire format, in which values that JSON cannot express are tagged. */
function valueText(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(cutAt(value, VALUE))
  return attempt(
    () => cutAt(JSON.stringify(value) ?? 'undefined', VALUE),
    'a value nested too deeply',
  )
}

const EVENTS_MAX = 10_000

/** At most 10,000 events. `to` is exclusive. */
export function eventRows(tape: Tape, from: number, to: number): EventRow[] {
  const first = Number.isInteger(from) ? Math.max(0, from) : 0
  const last = Number.isInteger(to) ? Math.min(to, first + EVENTS_MAX) : first + EVENTS_MAX
  // An event in one line, without its type: `POST api.openai.com/v1/responses`.
  return [...tape.events(first, last)].map((event) => ({
    seq: event.seq,
    at: event.at,
    type: event.type,
    text: cutText(textOf(tape, event).replaceAll(/\s+/g, ' ').trim(), LINE),
    op: 'op' in event ? event.op : undefined,
    bytes: tape.bodySize(event.seq),
  }))
}

const FOUND_MAX = 5000
const SLICE = 500

/** Events whose type or line contains a text, ignoring case. Yields them as they are found. */
export function* findEvents(tape: Tape, text: string): Generator<FoundEvents> {
  const wanted = text.trim().toLowerCase()
  let left = FOUND_MAX
  for (let from = 0; from < tape.count && left > 0; from += SLICE) {
    const rows = eventRows(tape, from, from + SLICE).filter((row) =>
      `${row.type} ${row.text}`.toLowerCase().includes(wanted),
    )
    left -= rows.length
    const isCut = left < 0 || (left === 0 && from + SLICE < tape.count)
    yield { rows: left < 0 ? rows.slice(0, left) : rows, ...(isCut && { isCut }) }
  }
}

export function eventAt(tape: Tape, seq: number): unknown {
  const one = {
    run: tape.run,
    details: tape.details,
    status: tape.status,
    count: tape.count,
    event: (at: number) => tape.event(at),
    // Throws for an invalid number.
    events: () => [tape.event(seq)],
    body: (at: number) => tape.body(at),
  }
  const [line] = eventLines(one)
  return clip(line)
}
