import type { DeliveryEvent } from '@retake/tape'
import { EMPTY, Operation } from '../sessions/session.js'
import type { NewDelivery } from '../sessions/session.js'
import { lostAnswer } from './given-up-answer.js'

/** A part that the agent got before the run was killed. */
export interface SeenPart {
  readonly event: DeliveryEvent
  readonly body: Uint8Array
}

/**
 * Asks again for an answer of which the agent has seen a part. When the new one
 * begins in the same way, the agent gets the rest of it; when it does not, the
 * answer is lost, as from a broken connection: two answers are never mixed.
 */
export class RepeatedAnswer extends Operation {
  readonly #status: number | undefined
  readonly #seen: Buffer
  #matched = 0
  #isLost = false

  constructor(
    readonly original: Operation,
    seen: readonly SeenPart[],
    readonly onLost: () => void,
  ) {
    super(original.id, original.action, original.session)
    const head = seen.map(({ event }) => event).find((event) => event.type === 'response')
    this.#status = head?.status
    this.#seen = withoutDate(Buffer.concat(seen.map(({ body }) => body)))
  }

  override complete(event: NewDelivery, body: Uint8Array = EMPTY, native?: unknown): void {
    if (this.#isLost || this.original.closed) return
    if (event.type === 'response') {
      if (this.#status === undefined) this.original.complete(event, body, native)
      else if (event.status !== this.#status) this.#lose()
      return
    }
    const missing = this.#seen.length - this.#matched
    const isChunk = event.type === 'deliver' && event.part === 'chunk'
    if (missing === 0) return this.original.complete(event, body, native)
    if (!isChunk) return this.#lose()
    const again = withoutDate(Buffer.from(body))
    const common = Math.min(missing, again.length)
    const expected = this.#seen.subarray(this.#matched, this.#matched + common)
    if (!again.subarray(0, common).equals(expected)) return this.#lose()
    this.#matched += common
    if (body.length > common) this.original.complete(event, body.subarray(common))
  }

  #lose(): void {
    this.#isLost = true
    this.onLost()
    for (const { event, body } of lostAnswer(this.original.action.event))
      this.original.complete(event, body)
  }
}

/** The one header that differs between two equal answers of a server; it always has the same length. */
const withoutDate = (bytes: Buffer): Buffer =>
  bytes.subarray(0, 5).toString('latin1') === 'HTTP/'
    ? Buffer.from(
        bytes.toString('latin1').replace(/\r\ndate: [^\r]*/i, (line) => '-'.repeat(line.length)),
        'latin1',
      )
    : bytes
