/**
 * How long the other side asks to wait before the next attempt, in milliseconds.
 * Errors carry this in the headers of a fetch Response, of axios, of the SDKs of
 * OpenAI, Anthropic and Vercel, or as a property of their own.
 */
export function retryAfterMs(error: unknown, now: number): number | undefined {
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

/** The error, what it was caused by, and so on. */
export function linksOf(error: unknown): Link[] {
  const links: Link[] = []
  let link = error
  while (typeof link === 'object' && link !== null && links.length < LONGEST_CHAIN) {
    links.push(link as Link)
    link = (link as Link)['cause']
  }
  return links
}

/** A header of the answer that an error is about. */
export function header(link: Link, name: string): unknown {
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

/** Seconds from now, or a date. */
function moment(value: unknown, now: number): number | undefined {
  if (value instanceof Date) return positive(Math.max(0, value.getTime() - now))
  if (typeof value === 'number') return positive(value * 1000)
  if (typeof value !== 'string') return undefined
  const text = value.trim()
  if (/^\d+(\.\d+)?$/.test(text)) return positive(Number(text) * 1000)
  // Only the forms of HTTP dates: the parser takes much for a date that is none.
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text)) return undefined
  return positive(Math.max(0, Date.parse(text) - now))
}
