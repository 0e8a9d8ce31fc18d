import { errors } from '../../errors.js'

/**
 * The last check before the outside. Every native connection, lookup and process passes here,
 * whichever library started it. A replayed process counts attempts and blocks all of them.
 */
const attempts: Record<string, number> = {}
let isForbidden = false

export type Contact = 'socket' | 'dns' | 'process' | 'datagram' | 'database'

/** Called immediately before a native call that reaches the outside. */
export function beforeContact(kind: Contact): void {
  attempts[kind] = (attempts[kind] ?? 0) + 1
  if (isForbidden) throw errors.BOUNDARY_NOT_REPLAYABLE(`A native ${kind}`)
}

export function forbidContact(): void {
  isForbidden = true
}

export const isContactForbidden = (): boolean => isForbidden

export const contactCounts = (): Readonly<Record<string, number>> => ({ ...attempts })
