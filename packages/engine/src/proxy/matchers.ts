import { parseJson } from '@retake/tape/format'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Mismatch, MISMATCHES_MAX } from '../kernel/compare.js'
import type { ComparedRequest } from '../player/content-matcher.js'
import { errors } from '../errors.js'

/**
 * Removes parts of a request that change from run to run without changing its meaning. Recorded and
 * current requests pass through the same matchers before they are compared; stored and sent
 * requests are not changed.
 */
export type RequestMatcher = (request: ComparedRequest) => ComparedRequest

const text = (body: Uint8Array): string =>
  Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('latin1')
const bytes = (body: string): Buffer => Buffer.from(body, 'latin1')

const without =
  (names: RegExp): RequestMatcher =>
  (request) => ({
    ...request,
    headers: request.headers.filter(([name]) => !names.test(name)),
  })

const replaced = (pattern: RegExp, name: string): RequestMatcher => {
  const swap = (value: string): string => value.replace(pattern, name)
  return (request) => ({
    ...request,
    url: swap(request.url),
    headers: request.headers.map(([header, value]) => [header, swap(value)] as const),
    body: bytes(swap(text(request.body))),
  })
}

/** Named, so that a tape can list the matchers of its requests. */
export const MATCHERS: Readonly<Record<string, RequestMatcher>> = {
  /** The boundary of a form is random. It is in a header and between the parts. */
  'multipart-boundary': (request) => {
    const type = request.headers.find(([name]) => name === 'content-type')?.[1] ?? ''
    const boundary = /^multipart\/.*boundary="?([^";]+)"?/i.exec(type)?.[1]
    if (boundary === undefined) return request
    return { ...request, body: bytes(text(request.body).replaceAll(boundary, 'boundary')) }
  },
  /** Values that AWS SDKs draw or sign for each request. */
  'aws-signing': (request) => ({
    ...without(/^(amz-sdk-.*|x-amz-(date|content-sha256|security-token)|x-amzn-trace-id)$/)(
      request,
    ),
    url: request.url.replace(/([?&])X-Amz-[\w-]+=[^&]*/gi, '$1'),
  }),
  /** Ids that SDKs draw for each attempt. */
  'request-ids': without(
    /^(idempotency-key|x-idempotency-key|x-request-id|x-client-request-id|request-id|x-ms-client-request-id|x-correlation-id)$/,
  ),
  /** Dates and times in ISO 8601, wherever they occur. */
  dates: replaced(
    /\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?\b/g,
    'date',
  ),
  /** UUIDs, wherever they occur. */
  uuids: replaced(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, 'uuid'),
  /** Sorts the keys of JSON objects. */
  'json-order': (request) => {
    const value = parseJson(Buffer.from(request.body).toString())
    if (value === undefined) return request
    return { ...request, body: Buffer.from(JSON.stringify(value, sorted)) }
  },
}

function sorted(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(
    Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)),
  )
}

/** Matchers of values that most programs create in each run. */
const FRESH_VALUES = ['dates', 'uuids']

/** The fewest of these matchers that would make the requests equal; undefined if they would not. */
export function matchersThatIgnore(mismatches: readonly Mismatch[]): string[] | undefined {
  const isEqualWith = (names: readonly string[]): boolean =>
    mismatches.every(({ recorded, current }) => {
      const [before, now] = [recorded, current].map((value) => {
        let request: ComparedRequest = {
          method: '',
          url: JSON.stringify(value) ?? '',
          headers: [],
          body: new Uint8Array(0),
        }
        for (const name of names) request = MATCHERS[name]?.(request) ?? request
        return request.url
      })
      return before === now
    })
  const isComplete = mismatches.length > 0 && mismatches.length < MISMATCHES_MAX
  if (!isComplete || !isEqualWith(FRESH_VALUES)) return undefined
  return FRESH_VALUES.filter((name) => !isEqualWith(FRESH_VALUES.filter((each) => each !== name)))
}

/** Always active, because they only remove parts without a meaning. */
export const DEFAULT_MATCHERS: readonly string[] = [
  'multipart-boundary',
  'aws-signing',
  'request-ids',
]

/** Matchers by name, or from files whose default export is a matcher; relative to `folder`. */
export async function loadMatchers(
  names: readonly string[],
  folder: string,
): Promise<RequestMatcher[]> {
  const wanted = [...new Set([...DEFAULT_MATCHERS, ...names])]
  return Promise.all(
    wanted.map(async (name) => {
      const known = Object.hasOwn(MATCHERS, name) ? MATCHERS[name] : undefined
      return known ?? loadFile(name, folder)
    }),
  )
}

async function loadFile(name: string, folder: string): Promise<RequestMatcher> {
  if (!/[./\\]/.test(name)) throw errors.UNKNOWN_MATCHER(name, Object.keys(MATCHERS))
  let loaded: { readonly default?: unknown }
  try {
    loaded = (await import(pathToFileURL(resolve(folder, name)).href)) as { default?: unknown }
  } catch (cause) {
    throw errors.MATCHER_UNUSABLE(name, cause instanceof Error ? cause.message : String(cause))
  }
  if (typeof loaded.default !== 'function')
    throw errors.MATCHER_UNUSABLE(name, 'it has no default export that is a function')
  return loaded.default as RequestMatcher
}
