import type { ClientProcess } from './client-process.js'
import type { TapedExchange } from './taped-exchanges.js'

/** An exchange whose request has arrived and whose answer is not complete. */
interface OpenExchange {
  readonly exchange: TapedExchange
  /** Position on the tape of the next part of the answer. */
  next: number
  /** True if that part is the end of the answer; see `Outbox.isLast`. */
  isEnd: boolean
  /** Set while that part waits for its turn. */
  release?: () => void
}

/** The limit for waiting for a request is twice its recorded time plus this. */
const PATIENCE_MS = 1000

/**
 * Releases the parts of answers in the order of the tape while several exchanges are open
 * concurrently. A part also waits for requests that come before it on the tape but have not
 * arrived: in the recording they were made without knowing the part, so waiting cannot block a
 * program that does the same again. If the program does not make the request, the wait ends after a
 * limit based on the recorded time. Exchanges that did not overlap in the recording never wait for
 * each other.
 */
export class AnswerOrder {
  /** Requests that have not arrived yet, in the order of the tape. */
  readonly #absent: Set<TapedExchange>
  readonly #open = new Map<TapedExchange, OpenExchange>()
  #last: TapedExchange | undefined
  /** Recorded time of the latest event that was repeated. */
  #reachedMs = 0
  #isSettling = false
  #isOff = false
  #stall: NodeJS.Timeout | undefined

  /** Without a `client`, does not wait for requests that have not arrived. */
  constructor(
    exchanges: readonly TapedExchange[],
    readonly client?: ClientProcess,
  ) {
    this.#absent = new Set(client ? exchanges : [])
  }

  /** Called when the request has arrived. Its answer takes part in the ordering until `done`. */
  begin(exchange: TapedExchange): void {
    this.#absent.delete(exchange)
    this.#open.set(exchange, {
      exchange,
      next: exchange.parts[0]?.seq ?? Infinity,
      isEnd: false,
    })
    this.#reach(exchange.request.at)
    this.#advance()
  }

  /** Resolves when this part of the answer may be sent; then it counts as sent. */
  turn(exchange: TapedExchange, index: number): Promise<void> {
    const open = this.#open.get(exchange)
    const part = exchange.parts[index]
    if (open === undefined || part === undefined || this.#isOff) return Promise.resolve()
    open.next = part.seq
    open.isEnd = part.type === 'deliver' && part.part !== 'chunk'
    return new Promise((resolve) => {
      open.release = () => {
        delete open.release
        this.#last = exchange
        open.next = exchange.parts[index + 1]?.seq ?? Infinity
        this.#reach(part.at)
        resolve()
      }
      this.#advance()
    })
  }

  /**
   * Called if the client is not reading, or must close first, so that other answers do not wait for
   * this one.
   */
  pass(exchange: TapedExchange): void {
    const open = this.#open.get(exchange)
    if (open) open.next = Infinity
    this.#advance()
  }

  /** Called when the answer is complete, or its client is gone. */
  done(exchange: TapedExchange): void {
    const open = this.#open.get(exchange)
    this.#open.delete(exchange)
    open?.release?.()
    this.#advance()
  }

  /** Called when the program diverged from the tape, so that the recorded order no longer applies. */
  off(): void {
    this.#isOff = true
    clearTimeout(this.#stall)
    for (const { release } of this.#open.values()) release?.()
  }

  #reach(atMs: number): void {
    this.#reachedMs = Math.max(this.#reachedMs, atMs)
    clearTimeout(this.#stall)
    this.#stall = undefined
  }

  #advance(): void {
    if (this.#isSettling || this.#isOff) return
    const first = this.#first()
    if (first?.release === undefined) return
    const missing = this.#awaited(first)
    if (missing) this.#stall ??= this.#giveUpLater(missing)
    else if (this.client === undefined || (this.#last === first.exchange && !first.isEnd))
      first.release()
    else void this.#settleThenAdvance(this.client, first)
  }

  /** A request may arrive in the meantime, so the first part is determined again afterwards. */
  async #settleThenAdvance(client: ClientProcess, first: OpenExchange): Promise<void> {
    this.#isSettling = true
    await client.settled()
    this.#isSettling = false
    if (this.#first() === first && !this.#awaited(first)) first.release?.()
    this.#advance()
  }

  /** The open exchange whose next part is the earliest on the tape. */
  #first(): OpenExchange | undefined {
    let first: OpenExchange | undefined
    for (const open of this.#open.values()) if (open.next < (first?.next ?? Infinity)) first = open
    return first
  }

  /** A request that was made before this part was sent, while its exchange was open. */
  #awaited({ exchange, next }: OpenExchange): TapedExchange | undefined {
    for (const absent of this.#absent) {
      if (absent.request.seq > next) return undefined
      if ((absent.parts.at(-1)?.seq ?? Infinity) > exchange.request.seq) return absent
    }
    return undefined
  }

  #giveUpLater(missing: TapedExchange): NodeJS.Timeout {
    const tookMs = Math.max(0, missing.request.at - this.#reachedMs)
    const stall = setTimeout(() => void this.#giveUp(missing, stall), 2 * tookMs + PATIENCE_MS)
    return stall
  }

  /** On a busy machine, the request may still arrive once the client gets to run. */
  async #giveUp(missing: TapedExchange, stall: NodeJS.Timeout): Promise<void> {
    await this.client?.settled()
    if (this.#stall !== stall) return
    this.#stall = undefined
    this.#absent.delete(missing)
    this.#advance()
  }
}
