import { currentSession } from '../kernel/scope.js'
import type { Session } from '../kernel/session.js'

const identities = new WeakMap<Session, RunIdentity>()

/** Identity of a run, for its own code. */
export interface RunIdentity {
  readonly id: string
  readonly name: string
}

export const identifySession = (session: Session, { id, name }: RunIdentity): void =>
  void identities.set(session, { id, name })

/** Id and name of the caller's run, if any. A replay returns the recorded ones. */
export function runIdentity(): RunIdentity | undefined {
  const session = currentSession()
  return session?.draw('retake.run', () => identities.get(session) ?? { id: '', name: '' })
}
