import type { HeaderPair } from '@retake/tape/format'

/** Values of these headers are never stored. */
const SECRET_HEADERS = new Set(['cookie', 'set-cookie', 'x-amz-security-token', 'x-csrf-token'])

/** Gateways have their own names for a key: `x-portkey-api-key`, `cf-aig-authorization`, `helicone-auth`. */
const SECRET_HEADER =
  /(?:^|[-_])(?:authorization|api[-_]?key|subscription-key|(?:auth|access)-token)$|-auth$/

/**
 * Stored but not compared: headers that describe the host, the moment, the attempt or the
 * connection, not the request. All others count.
 */
const VOLATILE =
  /^(user-agent|x-stainless-.*|x-goog-api-client|x-amz-user-agent|traceparent|tracestate|baggage|sentry-trace|date|x-amz-date|x-amz-content-sha256|amz-sdk-.*|content-length|transfer-encoding|connection|keep-alive|host|accept-encoding|accept-language|sec-.*)$/

export const HIDDEN = 'retake-hidden'

/** True if a header, or a property named like one, contains credentials. */
export const isSecretHeader = (name: string): boolean => isSecret(name.toLowerCase())

const isSecret = (lower: string): boolean => SECRET_HEADERS.has(lower) || SECRET_HEADER.test(lower)

/** The headers that change the meaning of a request, in a form that can be compared. */
export function meaningfulHeaders(headers: readonly HeaderPair[]): HeaderPair[] {
  return headers
    .filter(([name]) => !VOLATILE.test(name) && !isSecret(name))
    .map(([name, value]): HeaderPair => [name, value.replace(/boundary=\S+/, 'boundary=')])
    .toSorted((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0))
}

export const contentEncoding = (headers: readonly HeaderPair[]): string | undefined =>
  headers.find(([name]) => name === 'content-encoding')?.[1]
