import {
  bodyToText,
  GUARD_NOTES,
  type GuardFacts,
  type GuardIntent,
  type GuardNotes,
} from '@retake/tape/guards'
import {
  type Action,
  type Delivery,
  EMPTY,
  natives,
  type NewDelivery,
  Operation,
  outsideRuns,
  type Recording,
  type Session,
} from '@retake/engine/hook'

/**
 * A guarded call made by a tool. Tools do not run on replay, so the call is recorded not as an event
 * but as two notes, for its intent and its result.
 */
export class NestedSession implements Session {
  #intent: GuardIntent | undefined

  /** `within` is the key of the enclosing call. */
  constructor(
    readonly owner: Session,
    readonly within: string,
  ) {}

  get closed(): boolean {
    return this.owner.closed
  }

  get local(): Session['local'] {
    return this.owner.local
  }

  get remote(): Session['remote'] {
    return this.owner.remote
  }

  get secrets(): Session['secrets'] {
    return this.owner.secrets
  }

  get overlay(): Session['overlay'] {
    return this.owner.overlay
  }

  get recording(): Recording | undefined {
    return this.owner.recording
  }

  draw<T>(kind: string, native: () => T): T {
    const value = native()
    if (kind === 'guard') this.#intent = value as GuardIntent
    return value
  }

  drawAhead<T>(kind: string, native: () => T): T {
    return this.draw(kind, native)
  }

  perform(action: Action): Operation {
    const { event, body = EMPTY, durable = false } = action
    if (event.type !== 'call' || this.#intent === undefined) return this.#never()
    const as = event.as ?? 'json'
    const note = { intent: this.#intent, tool: event.name, as, body: bodyToText(as, body) }
    const seq = attachNote(this, 'call', note, durable !== false)
    const operation = new Operation(seq, action, this)
    outsideRuns(() => action.start(operation))
    return operation
  }

  completed(operation: Operation, event: NewDelivery, body: Uint8Array, native: unknown): void {
    if (event.type !== 'result' || this.#intent === undefined) return this.#never()
    const { as, error, guard = { status: 'done' } } = event
    const note = {
      op: operation.id,
      facts: guard as GuardFacts,
      ...(as && { as, body: bodyToText(as, body) }),
      ...(error && { error }),
    }
    attachNote(this, 'result', note, Boolean(operation.action.durable))
    // Deliver only after `perform` has returned.
    natives.queueMicrotask(() => operation.deliver({ event, body, native }))
  }

  attach(name: string, body: Uint8Array, isDurable?: boolean): number {
    return this.owner.attach?.(name, body, isDurable) ?? -1
  }

  note(...[note, body]: Parameters<Session['note']>): void {
    this.owner.note(note, body)
  }

  performSync(): Delivery {
    return this.#never()
  }

  output(): void {
    this.#never()
  }

  write(): void {
    this.#never()
  }

  refreshed(): void {
    this.#never()
  }

  commit(): void {
    this.#never()
  }

  proceed(): void {
    // Nested calls are never delayed.
  }

  forget(): void {
    // Nested calls have no list.
  }

  #never(): never {
    throw new Error('Retake invariant broken: a nested session only makes guarded calls')
  }
}

/** Writes a note of a guard to the tape. Returns its number. */
export const attachNote = <Kind extends keyof GuardNotes>(
  session: Session,
  kind: Kind,
  note: GuardNotes[Kind],
  isDurable?: boolean,
): number => session.attach?.(GUARD_NOTES[kind], Buffer.from(JSON.stringify(note)), isDurable) ?? -1
