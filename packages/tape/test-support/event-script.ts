import { encodeBody } from '../src/format/event-body.js'
import type { NewEvent, RunEvent, TapeEvent } from '../src/format/events.js'
import type { TapeLike } from '../src/format/tape-like.js'

const EMPTY = new Uint8Array(0)
const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

/** Writes a tape by hand, event by event, for tests of what can be read from one. */
export class EventScript implements TapeLike {
  status: TapeLike['status'] = 'sealed'
  readonly details = {}
  /** Every body that was asked for. */
  readonly bodyReads: number[] = []
  readonly #events: TapeEvent[] = []
  readonly #bodies: Uint8Array[] = []
  #now = 0

  constructor() {
    const run: NewEvent<RunEvent> = {
      type: 'run',
      format: 1,
      id: 'run-1',
      name: 'refund',
      startedAt: 1_760_000_000_000,
      scope: 'function',
      node: 'v20.20.2',
    }
    this.add(run)
  }

  /** Appends an event one millisecond after the last; gives its seq. */
  add(event: NewEvent, body: Uint8Array | string = EMPTY): number {
    const seq = this.#events.length
    this.#events.push({ ...event, seq, at: this.#now++ } as TapeEvent)
    this.#bodies.push(typeof body === 'string' ? encode(body) : body)
    return seq
  }

  wait(ms: number): this {
    this.#now += ms
    return this
  }

  /** A request through `fetch`; an object is sent as JSON. */
  request(url: string, body?: object, method = 'POST'): number {
    const text = body === undefined ? '' : JSON.stringify(body)
    return this.add({ type: 'request', seam: 'fetch', method, url, headers: [] }, text)
  }

  /** The whole answer to a request, in pieces if there are several. */
  answer(
    op: number,
    pieces: readonly string[],
    { status = 200, type = 'application/json' } = {},
  ): void {
    this.head(op, { status, type })
    for (const piece of pieces) this.chunk(op, piece)
    this.add({ type: 'deliver', op, part: 'end' })
  }

  head(op: number, { status = 200, type = 'application/json' } = {}): void {
    const headers = [['content-type', type]] as const
    this.add({
      type: 'response',
      op,
      status,
      statusText: status === 200 ? 'OK' : 'Trouble',
      headers,
    })
  }

  chunk(op: number, piece: string | Uint8Array): void {
    this.add({ type: 'deliver', op, part: 'chunk' }, piece)
  }

  tool(name: string, args: unknown): number {
    const { as, body } = encodeBody(args)
    return this.add({ type: 'call', kind: 'tool', name, as }, body)
  }

  result(op: number, value: unknown): void {
    const { as, body } = encodeBody(value)
    this.add({ type: 'result', op, as }, body)
  }

  end(exitCode = 0): this {
    this.add({ type: 'end', exitCode })
    return this
  }

  get run(): RunEvent {
    return this.#events[0] as RunEvent
  }

  get count(): number {
    return this.#events.length
  }

  event(seq: number): TapeEvent {
    return this.#events[seq] as TapeEvent
  }

  events(from = 0, to = this.count): Iterable<TapeEvent> {
    return this.#events.slice(from, to)
  }

  body(seq: number): Uint8Array {
    this.bodyReads.push(seq)
    return this.#bodies[seq] ?? EMPTY
  }
}
