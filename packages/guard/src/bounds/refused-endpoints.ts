import type { GuardError } from '../guard-error.js'
import type { CallBounds } from './call-bounds.js'

/** Refusals that are not about the endpoint itself: other requests to it may be allowed. */
const OF_THE_WAY = new Set(['METHOD_NOT_ALLOWED', 'SOCKET_NOT_ALLOWED'])

/** Where a connection would have led. */
export interface RefusedEndpoint {
  readonly host: string
  readonly port: number
}

const endpoints = new WeakMap<GuardError, string>()

export function noteEndpoint(refusal: GuardError, at: RefusedEndpoint): void {
  if (!OF_THE_WAY.has(refusal.code)) endpoints.set(refusal, keyOf(at))
}

/**
 * The refusal because of which a connection of these calls has failed, if any. Each refusal is
 * taken once: it prevented one connection.
 */
export function takeRefusal(
  bounds: readonly CallBounds[],
  at: RefusedEndpoint,
): GuardError | undefined {
  const endpoint = keyOf(at)
  for (const { blocked } of bounds) {
    const refusal = blocked.find((each) => endpoints.get(each) === endpoint)
    if (refusal === undefined) continue
    endpoints.delete(refusal)
    return refusal
  }
  return undefined
}

/** In URLs an address of version 6 stands in brackets. */
const keyOf = ({ host, port }: RefusedEndpoint): string =>
  `${host.replace(/^\[|\]$/g, '').toLowerCase()} ${port}`
