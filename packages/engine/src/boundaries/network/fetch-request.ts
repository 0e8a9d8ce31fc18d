import { outsideRuns } from '../../scope.js'
import type { FetchInput } from './fetch-body.js'

/** What `fetch` was asked for, without its body. */
export interface DescribedRequest {
  readonly method: string
  readonly url: URL
  readonly headers: Headers
  readonly signal: AbortSignal | undefined
  /** What native fetch is called with; the body and the signal are put in later. */
  readonly init: RequestInit
}

/** Reads what is asked without building a `Request` for the common case: that costs more than the exchange. */
export function describeRequest(
  input: FetchInput,
  init: RequestInit | undefined,
): DescribedRequest {
  if (input instanceof Request) {
    if ((init?.body ?? undefined) === undefined && input.bodyUsed)
      throw new TypeError(
        'Cannot construct a Request with a Request object that has already been used.',
      )
    const given = settingsOf(input)
    const request =
      init === undefined
        ? input
        : outsideRuns(
            () =>
              new Request(input.url, {
                ...given,
                ...withoutGaps(init),
                body: null,
                signal: null,
              }),
          )
    return {
      method: request.method,
      url: new URL(request.url),
      headers: new Headers(request.headers),
      signal: init?.signal === null ? undefined : (init?.signal ?? input.signal),
      init: init === undefined ? given : settingsOf(request),
    }
  }
  const url = parseUrl(input)
  const method = (init?.method ?? 'GET').toUpperCase()
  return {
    method,
    url,
    headers: new Headers(init?.headers),
    signal: init?.signal ?? undefined,
    init: { ...init },
  }
}

/** What is there but undefined changes nothing. */
const withoutGaps = (init: RequestInit): RequestInit =>
  Object.fromEntries(Object.entries(init).filter(([, value]) => value !== undefined))

/** All of a request but its address, body and signal. Read one by one: to build one from another takes its body away. */
function settingsOf(request: Request): RequestInit {
  const { method, headers, redirect, credentials, mode, cache } = request
  const { integrity, keepalive, referrer, referrerPolicy } = request
  return {
    method,
    headers,
    redirect,
    credentials,
    mode,
    cache,
    integrity,
    keepalive,
    referrer,
    referrerPolicy,
  } as RequestInit
}

function parseUrl(input: string | URL): URL {
  try {
    return new URL(input)
  } catch (cause) {
    throw new TypeError(`Failed to parse URL from ${String(input)}`, { cause })
  }
}
