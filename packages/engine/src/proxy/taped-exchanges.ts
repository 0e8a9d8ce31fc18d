import { createHash } from 'node:crypto'
import type { DeliveryEvent, RequestEvent, Tape } from '@retake/tape/format'
import { meaningfulHeaders } from '../headers.js'
import { bodyMismatches } from '../player/compare.js'
import { compareInitiation } from '../player/compare.js'
import type { Mismatch } from '../player/compare.js'
import { canonical } from './matchers.js'
import type { Matcher } from './matchers.js'
import type { ProxyRequest } from './proxy-request.js'

/** A request on the tape with the parts of its answer, in order. */
export interface TapedExchange {
  readonly request: RequestEvent
  readonly parts: readonly DeliveryEvent[]
}

/** The recorded request that is most like one the tape does not have. */
export interface Nearest {
  readonly request: RequestEvent
  readonly mismatches: readonly Mismatch[]
  /** It is the same, and every recorded answer to it has been given. */
  readonly isUsedUp: boolean
  /** How often the same request is on the tape. */
  readonly times: number
}

/** Of a long tape, as many requests are looked at in full to explain a miss. */
const COMPARED_MAX = 50

/**
 * The exchanges of a tape, each to be used once. Requests are compared strictly,
 * after the matchers; of identical ones the first recorded is used first.
 */
export class TapedExchanges {
  readonly all: readonly TapedExchange[]
  readonly #tape: Tape
  readonly #matchers: readonly Matcher[]
  readonly #byKey = new Map<string, TapedExchange[]>()
  readonly #times = new Map<string, number>()
  readonly #used = new Set<TapedExchange>()

  constructor(tape: Tape, matchers: readonly Matcher[]) {
    this.#tape = tape
    this.#matchers = matchers
    this.all = readExchanges(tape)
    for (const exchange of this.all) {
      const key = this.#keyOf(this.#taped(exchange.request))
      const same = this.#byKey.get(key)
      if (same) same.push(exchange)
      else this.#byKey.set(key, [exchange])
      this.#times.set(key, (this.#times.get(key) ?? 0) + 1)
    }
  }

  /** Exchanges that nobody asked for yet. */
  get unused(): readonly TapedExchange[] {
    return this.all.filter((exchange) => !this.#used.has(exchange))
  }

  take(request: ProxyRequest): TapedExchange | undefined {
    const found = this.#byKey.get(this.#keyOf(request))?.shift()
    if (found) this.#used.add(found)
    return found
  }

  nearest(request: ProxyRequest): Nearest | undefined {
    const times = this.#times.get(this.#keyOf(request)) ?? 0
    const candidates = this.all
      .toSorted((a, b) => this.#distance(a, request) - this.#distance(b, request))
      .slice(0, COMPARED_MAX)
    let best: Nearest | undefined
    for (const { request: recorded } of candidates) {
      const mismatches = this.#differences(recorded, request)
      if (best === undefined || mismatches.length < best.mismatches.length)
        best = { request: recorded, mismatches, isUsedUp: times > 0, times }
    }
    return best
  }

  /** Rough, and without reading bodies: what is not asked for yet, with this method and address, comes first. */
  #distance({ request }: TapedExchange, current: ProxyRequest): number {
    const used = this.unusedSeqs.has(request.seq) ? 0 : 1
    const [path, other] = [request.url, current.url].map((url) => url.replace(/\?.*$/, ''))
    return (request.method === current.method ? 0 : 4) + (path === other ? 0 : 8) + used
  }

  get unusedSeqs(): ReadonlySet<number> {
    return new Set(this.unused.map(({ request }) => request.seq))
  }

  #differences(recorded: RequestEvent, current: ProxyRequest): Mismatch[] {
    const before = canonical(this.#taped(recorded), this.#matchers)
    const now = canonical(current, this.#matchers)
    const event = { type: 'request', seam: 'http' } as const
    const fields = compareInitiation(
      { ...recorded, method: before.method, url: before.url, headers: before.headers },
      { ...event, method: now.method, url: now.url, headers: now.headers },
    )
    const isSame = Buffer.compare(before.body, now.body) === 0
    return isSame ? fields : [...fields, ...bodyMismatches(before.body, now.body)]
  }

  #taped({ method, url, headers, seq }: RequestEvent): ProxyRequest {
    return { method, url, headers, body: this.#tape.body(seq) }
  }

  #keyOf(request: ProxyRequest): string {
    const { method, url, headers, body } = canonical(request, this.#matchers)
    return createHash('sha256')
      .update(JSON.stringify([method, url, meaningfulHeaders(headers)]))
      .update('\n')
      .update(body)
      .digest('base64')
  }
}

function readExchanges(tape: Tape): TapedExchange[] {
  const parts = new Map<number, DeliveryEvent[]>()
  const found: TapedExchange[] = []
  for (const event of tape.events()) {
    if (event.type === 'request') {
      const own: DeliveryEvent[] = []
      parts.set(event.seq, own)
      found.push({ request: event, parts: own })
    } else if (event.type === 'response' || event.type === 'deliver') {
      parts.get(event.op)?.push(event)
    }
  }
  return found
}
