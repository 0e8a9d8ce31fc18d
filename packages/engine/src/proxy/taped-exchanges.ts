import type { DeliveryEvent, RequestEvent, Tape } from '@retake/tape/format'
import type { Mismatch } from '../kernel/compare.js'
import { type ComparedRequest, ContentMatcher } from '../player/content-matcher.js'
import { type RecordedOperation, TapeTimeline } from '../kernel/timeline.js'
import type { RequestMatcher } from './matchers.js'

/** A request on the tape with the parts of its answer, in order. */
export interface TapedExchange {
  readonly request: RequestEvent
  readonly parts: readonly DeliveryEvent[]
}

/** The recorded request most similar to one that is not on the tape. */
export interface NearestRequest {
  readonly request: RequestEvent
  readonly mismatches: readonly Mismatch[]
  /** How often the same request is on the tape, with all answers used. */
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
    const timeline = new TapeTimeline(tape, 1)
    this.#matcher = new ContentMatcher(timeline, {
      drawn: 'compared',
      answers: 'once',
      normalize: (request) => matchers.reduce((seen, matcher) => matcher(seen), request),
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

  get unused(): readonly TapedExchange[] {
    return [...this.#byOperation].flatMap(([{ used }, exchange]) => (used ? [] : [exchange]))
  }

  take(request: ComparedRequest): TapedExchange | undefined {
    const found = this.#matcher.take({ event: eventOf(request), body: request.body })
    return found && this.#byOperation.get(found)
  }

  nearest(request: ComparedRequest): NearestRequest | undefined {
    const event = eventOf(request)
    const times = this.#matcher.identical(event, request.body).length
    const among = [...this.#byOperation.keys()]
    const found = this.#matcher.nearest(event, request.body, { among })
    const exchange = found && this.#byOperation.get(found.recorded)
    return exchange && { request: exchange.request, mismatches: found.mismatches, times }
  }
}

const eventOf = ({ method, url, headers }: ComparedRequest) =>
  ({ type: 'request', seam: 'http', method, url, headers }) as const
