import { GuardError } from '../denials/guard-error.js'

/** The pause that a server requests, from the headers or properties of an error. */
export function requestedPauseMs(error: unknown, now: number): number | undefined {
  for (const link of linksOf(error)) {
    const { retryAfterMs: ms, retryAfter } = link
    const delay =
      positive(header(link, 'retry-after-ms')) ??
      positive(ms) ??
      moment(header(link, 'retry-after'), now) ??
      moment(retryAfter, now)
    if (delay !== undefined) return delay
  }
  return undefined
}

type Link = Readonly<Record<string, unknown>>

const LONGEST_CHAIN = 8

function linksOf(error: unknown): Link[] {
  const links: Link[] = []
  let link = error
  while (typeof link === 'object' && link !== null && links.length < LONGEST_CHAIN) {
    links.push(link as Link)
    link = (link as Link)['cause']
  }
  return links
}

/** A header of the response that an error contains. */
function header(link: Link, name: string): unknown {
  const { headers, responseHeaders, response } = link
  const ofResponse = isObject(response) ? response['headers'] : undefined
  for (const bag of [headers, responseHeaders, ofResponse]) {
    const value = isObject(bag) ? read(bag, name) : undefined
    if (value !== undefined && value !== null) return value
  }
  return undefined
}

function read(bag: Link, name: string): unknown {
  if (typeof bag['get'] === 'function') return (bag as unknown as Headers).get(name)
  const key = Object.keys(bag).find((each) => each.toLowerCase() === name)
  const value = key === undefined ? undefined : bag[key]
  return Array.isArray(value) ? value[0] : value
}

const isObject = (value: unknown): value is Link => typeof value === 'object' && value !== null

function positive(value: unknown): number | undefined {
  const number =
    typeof value === 'number' ? value : typeof value === 'string' ? parseFloat(value) : NaN
  return number >= 0 && number < Infinity ? number : undefined
}

/** Parses seconds from now, or a date. */
function moment(value: unknown, now: number): number | undefined {
  if (value instanceof Date) return positive(Math.max(0, value.getTime() - now))
  if (typeof value === 'number') return positive(value * 1000)
  if (typeof value !== 'string') return undefined
  const text = value.trim()
  if (/^\d+(\.\d+)?$/.test(text)) return positive(Number(text) * 1000)
  // Only HTTP dates: `Date.parse` accepts much more.
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text)) return undefined
  return positive(Math.max(0, Date.parse(text) - now))
}

/**
 * Safety of a retry after an error. `nothing happened`: the request was not accepted.
 * `transient`: it may have been accepted, so only a tool that may run twice is retried. `final`: it
 * would fail again.
 *
 * Considers only the failed request. `CallBounds.didOneThing` tells whether the tool did more.
 */
export type RetrySafety = 'nothing happened' | 'transient' | 'final'

export function retrySafety(error: unknown): RetrySafety {
  const links = linksOf(error)
  if (links.some((link) => link instanceof GuardError)) return 'final'
  for (const link of links) {
    if (link['name'] === 'AbortError') return 'final'
    if (String(header(link, 'x-should-retry')) === 'false') return 'final'
    const status = statusOf(link)
    if (status !== undefined) {
      if (status === 429) return 'nothing happened'
      if (status === 408 || status === 425) return 'transient'
      return status >= 500 && status !== 501 && status !== 505 ? 'transient' : 'final'
    }
    const { errors } = link
    if (Array.isArray(errors) && errors.length > 0) {
      // If several addresses were tried, the least safe result applies.
      const results = errors.map(retrySafety)
      const leastSafe = ORDER.find((safety) => results.includes(safety))
      if (leastSafe !== undefined) return leastSafe
    }
    const found = ofCode(link)
    if (found !== undefined) return found
  }
  return 'final'
}

function statusOf(link: Readonly<Record<string, unknown>>): number | undefined {
  const metadata = link['$metadata'] as { httpStatusCode?: unknown } | undefined
  const response = link['response'] as { status?: unknown; statusCode?: unknown } | undefined
  return [
    link['status'],
    link['statusCode'],
    response?.status,
    response?.statusCode,
    metadata?.httpStatusCode,
  ].find((value) => typeof value === 'number' && value >= 100 && value < 600) as number | undefined
}

const ORDER: readonly RetrySafety[] = ['final', 'transient', 'nothing happened']

const NOT_REACHED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'])

const TRANSIENT = new Set([
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'ESOCKETTIMEDOUT',
  'ENETUNREACH',
  'ENETDOWN',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'UND_ERR_SOCKET',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'ERR_STREAM_PREMATURE_CLOSE',
  'ERR_HTTP2_STREAM_ERROR',
  'ERR_HTTP2_SESSION_ERROR',
])

function ofCode(link: Readonly<Record<string, unknown>>): RetrySafety | undefined {
  const { code, syscall, message } = link
  if (typeof code !== 'string') return undefined
  if (NOT_REACHED.has(code)) return 'nothing happened'
  if (!TRANSIENT.has(code)) return undefined
  const isBeforeRequest =
    syscall === 'connect' ||
    (typeof message === 'string' && message.includes('before secure TLS connection'))
  return isBeforeRequest ? 'nothing happened' : 'transient'
}
