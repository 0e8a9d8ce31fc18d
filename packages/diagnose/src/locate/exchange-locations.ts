import type { Exchange, HeaderPair, Step, TapeLike } from '@retake/tape'
import { searchJson, searchText } from './search-pieces.js'
import { searchPieces } from './search-pieces.js'
import { searchStream } from './search-stream.js'
import type { Hit } from './matcher.js'
import type { Matcher } from './matcher.js'
import { searchOf, type ValueLocation, type Search } from './value-location.js'

/**
 * Searches the request and the answer of a step. They are read together, since
 * either takes decoding the exchange, and not kept: conversations are long.
 */
export const searchExchange =
  (tape: TapeLike, step: Step): Search =>
  (matcher) =>
    exchangeLocations(tape, step).flatMap((location) => searchOf(location)(matcher))

const exchangeLocations = (tape: TapeLike, step: Step): ValueLocation[] => {
  const exchange = step.exchange()
  if (exchange === undefined) return []
  const { request, response } = exchange
  const common = {
    name: exchange.model ?? request.url,
    step: step.label,
    ...(step.site !== undefined && { site: step.site }),
  }
  return [
    {
      ...common,
      seq: step.seq,
      direction: 'out',
      source: 'request',
      search: (matcher) => [
        ...searchUrl(request.url, matcher),
        ...searchHeaders(request.headers, matcher),
        ...searchPieces([{ seq: step.seq, bytes: request.body }], matcher),
      ],
    },
    {
      ...common,
      seq: step.answerSeqs[0] ?? step.seq,
      direction: 'in',
      source: 'answer',
      search: (matcher) =>
        response === undefined
          ? searchRaw(tape, step, matcher)
          : [
              ...searchHeaders(response.headers, matcher),
              ...searchAnswer(tape, step, response, matcher),
            ],
    },
  ]
}

/** What came of an answer that broke off before its head was complete. */
const searchRaw = (tape: TapeLike, { answerSeqs }: Step, matcher: Matcher): Hit[] =>
  searchPieces(
    answerSeqs.map((seq) => ({ seq, bytes: tape.body(seq) })),
    matcher,
  )

const searchAnswer = (
  tape: TapeLike,
  { seq, answerSeqs }: Step,
  { events, chunks }: NonNullable<Exchange['response']>,
  matcher: Matcher,
): Hit[] => {
  // Pieces know when they came; the event of that time is the one that carried them.
  const byTime = new Map(answerSeqs.map((answer) => [tape.event(answer).at, answer]))
  const seqAt = (at: number): number => byTime.get(at) ?? answerSeqs.at(-1) ?? seq
  if (events !== undefined) return searchStream(events, ({ at }) => seqAt(at), matcher)
  return searchPieces(
    chunks.map(({ at, bytes }) => ({ seq: seqAt(at), bytes })),
    matcher,
  )
}

/** As it is sent, and as it reads. */
const searchUrl = (url: string, matcher: Matcher): Hit[] => {
  const hits = searchText(url, matcher, 'url')
  return hits.length > 0 ? hits : searchText(readable(url), matcher, 'url')
}

const readable = (url: string): string => {
  try {
    return decodeURIComponent(url.replaceAll('+', ' '))
  } catch {
    return url
  }
}

const searchHeaders = (headers: readonly HeaderPair[], matcher: Matcher): Hit[] =>
  headers.flatMap(([name, value]) => searchJson({ [name]: value }, matcher, 'headers'))
