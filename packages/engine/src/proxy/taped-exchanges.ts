import type { DeliveryEvent, RequestEvent, Tape } from '@retake/tape/format'
import type { Mismatch } from '../player/compare.js'
import { ContentMatcher } from '../player/content-matcher.js'
import { type RecordedOperation, TapeTimeline } from '../player/timeline.js'
import { canonical, type RequestMatcher } from './matchers.js'
import type { ProxyRequest } from './proxy-request.js'

/** A request on the tape with the parts of its answer, in order. */
export interface TapedExchange {
  readonly request: RequestEvent
  readonly parts: readonly DeliveryEvent[]
}

/** The recorded request that is most similar to one that is not on the tape. */
export interface NearestRequest {
  readonly request: RequestEvent
  readonly mismatches: readonly Mismatch[]
  /** True if it is identical, and every recorded answer to it was used. */
  readonly isUsedUp: boolean
  /** How often the same request is on the tape. */
  readonly times: number
}

/**
 * The exchanges of a tape, each used once. Requests are compared strictly, after the matchers; of
 * identical ones, the first recorded is used first.
 */
export class TapedExchanges {
  readonly all: readonly TapedExchange[]
  readonly #matcher: ContentMatcher
  readonly #byOperation: ReadonlyMap<RecordedOperation, TapedExchange>

  constructor(tape: Tape, matchers: readonly RequestMatcher[]) {
    const timeline = new TapeTimeline(tape, 1, () => {})
    this.#matcher = new ContentMatcher(timeline, {
      drawn: 'compared',
      answers: 'once',
      normalize: (request) => canonical(request, matchers),
    })
    this.#byOperation = new Map(
      timeline.operations.flatMap((operation) => {
        const { event: request, parts } = operation
        if (request.type !== 'request') return []
        return [[operation, { request, parts: parts.map((seq) => timeline.delivery(seq)) }]]
      }),
    )
    this.all = [...this.#byOperation.values()]
  }

  /** Exchanges that were not requested yet. */
  get unused(): readonly TapedExchange[] {
    return [...this.#byOperation].flatMap(([{ used }, exchange]) => (used ? [] : [exchange]))
  }

  take(request: ProxyRequest): TapedExchange | undefined {
    const found = this.#matcher.take({ event: eventOf(request), body: request.body })
    return found && this.#byOperation.get(found)
  }

  nearest(request: ProxyRequest): NearestRequest | undefined {
    const event = eventOf(request)
    const times = this.#matcher.identical(event, request.body).length
    const among = [...this.#byOperation.keys()]
    const found = this.#matcher.nearest(event, request.body, { among })
    const exchange = found && this.#byOperation.get(found.recorded)
    if (found === undefined || exchange === undefined) return undefined
    const { mismatches } = found
    return { request: exchange.request, mismatches, isUsedUp: times > 0, times }
  }
}

const eventOf = ({ method, url, headers }: ProxyRequest) =>
  ({ type: 'request', seam: 'http', method, url, headers }) as const
