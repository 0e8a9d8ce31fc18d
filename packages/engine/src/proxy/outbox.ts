import type { ClientProcess } from './client-process.js'

/** With many open exchanges, the next write waits this long, so that more parts share it. */
const GATHER_MS = 2

/** Something that a client is about to see. */
export interface Showing {
  /** Group of the part. A known client settles between two groups. */
  readonly of: object
  readonly show: () => void
}

/**
 * Answers on their way to clients, buffered until they are on the tape. Everything that arrives in
 * one turn of the event loop, from all providers, is one write to the tape; then it is sent, in
 * order of arrival. A known client sees the parts of one answer, then settles, before it sees the
 * next: otherwise the order in which it notices them could not be repeated.
 */
export class Outbox {
  #waiting: Showing[] = []
  /** On the tape, and about to be shown. */
  readonly #written: Showing[] = []
  #last: Showing | undefined
  #isShowing = false
  #isScheduled = false
  #releasedAt = -Infinity

  /** `flush` writes the tape and never throws. */
  constructor(
    readonly flush: () => void,
    readonly isBusy: () => boolean,
    readonly client?: ClientProcess,
  ) {}

  /** Requests a write at the end of this turn. */
  schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    if (this.isBusy() && performance.now() - this.#releasedAt < GATHER_MS)
      setTimeout(() => this.release(), GATHER_MS)
    else setImmediate(() => this.release())
  }

  add(showing: Showing): void {
    this.#waiting.push(showing)
    this.schedule()
  }

  /**
   * True if content that is added to this part now keeps its position in the order. A known client
   * sees the end of an answer separately: a client that stops reading before the end closes the
   * connection, and otherwise reuses it.
   */
  isLast(showing: Showing, isEnd: boolean): boolean {
    if (this.client === undefined) return true
    return !isEnd && (this.#waiting.at(-1) ?? this.#written.at(-1)) === showing
  }

  /** Writes immediately, and shows everything for which no client has to settle first. */
  release(): void {
    this.#isScheduled = false
    this.#releasedAt = performance.now()
    this.flush()
    this.#written.push(...this.#waiting)
    this.#waiting = []
    if (this.client === undefined) this.showAll()
    else void this.#showInOrder(this.client)
  }

  /** Shows everything written, without waiting for a client to settle. */
  showAll(): void {
    for (let next = this.#written.shift(); next; next = this.#written.shift()) next.show()
  }

  async #showInOrder(client: ClientProcess): Promise<void> {
    if (this.#isShowing) return
    this.#isShowing = true
    for (let [next] = this.#written; next; [next] = this.#written) {
      if (this.#last !== undefined && this.#last.of !== next.of) await client.settled()
      this.#last = this.#written.shift()
      this.#last?.show()
    }
    this.#isShowing = false
  }
}
