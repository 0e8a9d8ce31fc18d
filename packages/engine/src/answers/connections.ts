import type { InitiationEvent, NewEvent } from '@retake/tape'
import type { Operation } from '../sessions/session.js'
import { compareInitiation } from '../signature.js'
import { isAsked } from './is-asked.js'
import type { RecordedAnswers } from './recorded-answers.js'

/** The connections of the run that goes on: requests are answered on the one they are written to. */
export class Connections {
  readonly #byId = new Map<number, Operation>()
  readonly #asked = new Set<Operation>()

  add(connection: Operation): void {
    this.#byId.set(connection.id, connection)
  }

  get(op: number): Operation | undefined {
    return this.#byId.get(op)
  }

  /** The connection that a request is written to; none for requests that stand for themselves. */
  askedBy(event: NewEvent<InitiationEvent>): Operation | undefined {
    const connection = event.type === 'request' ? this.#byId.get(event.socket ?? -1) : undefined
    if (connection !== undefined) this.#asked.add(connection)
    return connection
  }

  /**
   * Requests, tool calls and processes of the recording that nobody asked for. A
   * request whose connection was opened, and given up before it could be written,
   * is not one of them.
   */
  unasked(recorded: RecordedAnswers): InitiationEvent[] {
    const givenUp = [...this.#byId.values()].filter((one) => one.closed && !this.#asked.has(one))
    return recorded.operations
      .filter(({ used, event }) => !used && isAsked(event))
      .map(({ event }) => event)
      .filter((event) => !takeConnectionOf(event, recorded, givenUp))
  }
}

function takeConnectionOf(
  event: InitiationEvent,
  recorded: RecordedAnswers,
  connections: Operation[],
): boolean {
  if (event.type !== 'request' || event.socket === undefined) return false
  const opened = recorded.byStart.get(event.socket)?.event
  const at = connections.findIndex(
    ({ action }) => opened && compareInitiation(opened, action.event).length === 0,
  )
  if (at >= 0) connections.splice(at, 1)
  return at >= 0
}
