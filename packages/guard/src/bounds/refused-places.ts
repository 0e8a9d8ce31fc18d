import type { GuardError } from '../guard-error.js'
import type { CallBounds } from './call-bounds.js'

/** Refusals that say nothing of the place itself: what else is tried there may be allowed. */
const OF_THE_WAY = new Set(['METHOD_NOT_ALLOWED', 'SOCKET_NOT_ALLOWED'])

/** Where a connection would have led. */
export interface RefusedPlace {
  readonly host: string
  readonly port: number
}

const places = new WeakMap<GuardError, string>()

export function notePlace(refusal: GuardError, at: RefusedPlace): void {
  if (!OF_THE_WAY.has(refusal.code)) places.set(refusal, keyOf(at))
}

/**
 * Why a connection of these calls to a place has failed, if it was refused. Each refusal is
 * taken once: it was one connection that it kept from being opened.
 */
export function takeRefusal(
  bounds: readonly CallBounds[],
  at: RefusedPlace,
): GuardError | undefined {
  const place = keyOf(at)
  for (const { blocked } of bounds) {
    const refusal = blocked.find((each) => places.get(each) === place)
    if (refusal === undefined) continue
    places.delete(refusal)
    return refusal
  }
  return undefined
}

/** In URLs an address of version 6 stands in brackets. */
const keyOf = ({ host, port }: RefusedPlace): string =>
  `${host.replace(/^\[|\]$/g, '').toLowerCase()} ${port}`
