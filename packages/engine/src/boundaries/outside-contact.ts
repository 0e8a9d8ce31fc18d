import { errors } from '../errors.js'

/**
 * The last check before the outside. Every native connection, look-up and process of this
 * process passes it, whichever library makes the call. A replayed process counts the attempts
 * and lets none through.
 */
const attempts: Record<string, number> = {}
let isForbidden = false

export type Contact = 'socket' | 'dns' | 'process' | 'datagram' | 'database'

/** Called directly before a native call that reaches the outside. */
export function beforeContact(kind: Contact): void {
  attempts[kind] = (attempts[kind] ?? 0) + 1
  if (isForbidden) throw errors.BOUNDARY_NOT_REPLAYABLE(`A native ${kind}`)
}

/** From now on nothing in this process may reach the outside. */
export function forbidContact(): void {
  isForbidden = true
}

export const contactCounts = (): Readonly<Record<string, number>> => ({ ...attempts })
