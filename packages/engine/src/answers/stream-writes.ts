import type { InitiationEvent, NewEvent } from '@retake/tape'
import type { RecordedAnswers } from './recorded-answers.js'

type Initiation = NewEvent<InitiationEvent>

/**
 * What a recording wrote to files through streams, line by line. A stream puts
 * what waits into one write: in another order of answers the same lines are
 * written in other portions, and that is nothing the agent asks for.
 */
export class StreamWrites {
  readonly #lines = new Map<string, Set<string>>()

  constructor(readonly recorded: RecordedAnswers) {}

  /** Whether this writes nothing but lines that were written to that file then. */
  has(event: Initiation, body: Uint8Array): boolean {
    const place = placeOf(event)
    if (place === undefined) return false
    const known = this.#linesOf(place)
    return linesOf(body).every((line) => known.has(line))
  }

  #linesOf(place: string): ReadonlySet<string> {
    const known = this.#lines.get(place)
    if (known !== undefined) return known
    const lines = new Set(
      this.recorded.operations
        .filter(({ event }) => placeOf(event) === place)
        .flatMap(({ event }) => linesOf(this.recorded.tape.body(event.seq))),
    )
    this.#lines.set(place, lines)
    return lines
  }
}

/** The file that is written at its end, or where it was left; undefined for anything else. */
function placeOf(event: Initiation): string | undefined {
  if (event.type !== 'call' || event.kind !== 'file' || event.sync === true) return undefined
  return /\.writev?$/.test(event.name) ? (event.title ?? '') : undefined
}

/** With their ends; latin1 keeps every byte. */
const linesOf = (body: Uint8Array): string[] =>
  Buffer.from(body)
    .toString('latin1')
    .split(/(?<=\n)/)
