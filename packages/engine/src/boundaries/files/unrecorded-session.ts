import { natives } from '../../kernel/natives.js'
import { outsideRuns, unrecordedOwner } from '../../kernel/scope.js'
import { EMPTY, Operation } from '../../kernel/session.js'
import type { Action, Delivery, NewDelivery, Session, SyncCall } from '../../kernel/session.js'
import { descriptorsOf, mayUseDescriptors } from './tape-descriptors.js'

/**
 * Lets the file boundary work for a run without recording: for calls of its tools, and for work
 * that outlives it. Both see the run's overlay and descriptors, and must not reach the disk through
 * paths and numbers that are valid only inside the run.
 */
export class UnrecordedSession implements Session {
  readonly closed = false
  readonly local = 'live'
  readonly remote = 'live'

  constructor(readonly owner: Session) {}

  get overlay(): Session['overlay'] {
    return this.owner.overlay
  }

  get secrets(): Session['secrets'] {
    return this.owner.secrets
  }

  readonly draw = <T>(_kind: string, native: () => T): T => native()
  readonly drawAhead = this.draw
  // Nothing is written, delayed or tracked.
  readonly output = ignore
  readonly write = ignore
  readonly commit = ignore
  readonly proceed = ignore
  readonly forget = ignore
  readonly refreshed = ignore

  perform(action: Action): Operation {
    const operation = new Operation(-1, action, this)
    outsideRuns(() => action.start(operation))
    return operation
  }

  performSync(call: SyncCall): Delivery {
    const { event, body = EMPTY, native } = outsideRuns(() => call.run(-1))
    return { event, body, native }
  }

  note(note: Parameters<Session['note']>[0]): void {
    this.owner.note(note)
  }

  completed(operation: Operation, event: NewDelivery, body: Uint8Array, native: unknown): void {
    natives.setImmediate(() => operation.closed || operation.deliver({ event, body, native }))
  }
}

const ignore = (): void => {}

const made = new WeakMap<Session, UnrecordedSession>()

/** The session of a call that is not recorded but still needs the files of its run; usually undefined. */
export function unrecordedFileSession(): Session | undefined {
  if (!mayUseDescriptors()) return undefined
  const owner = unrecordedOwner()
  if (owner === undefined || (owner.overlay === undefined && !descriptorsOf(owner).isNeeded))
    return undefined
  let session = made.get(owner)
  if (session === undefined) made.set(owner, (session = new UnrecordedSession(owner)))
  return session
}
