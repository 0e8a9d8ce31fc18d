import { errors } from '../../errors.js'
import { toolOwner } from '../../kernel/scope.js'

/**
 * The last check before the outside. Every native connection, lookup and process passes here,
 * whichever library started it. A replayed process counts attempts and blocks all of them.
 */
const attempts: Record<string, number> = {}
let isForbidden = false
let isForbiddenInTools = false

export type Contact = 'socket' | 'dns' | 'process' | 'datagram' | 'database'

/** Called immediately before a native call that reaches the outside. */
export function beforeContact(kind: Contact): void {
  attempts[kind] = (attempts[kind] ?? 0) + 1
  if (isForbidden || (isForbiddenInTools && toolOwner() !== undefined))
    throw errors.BOUNDARY_NOT_REPLAYABLE(`A native ${kind}`)
}

export function forbidContact(): void {
  isForbidden = true
}

/** Forbids what the work of a tool does natively; the run itself is checked by its plan. */
export function forbidContactInTools(): void {
  isForbiddenInTools = true
}

export const isContactForbidden = (): boolean => isForbidden

export const contactCounts = (): Readonly<Record<string, number>> => ({ ...attempts })
