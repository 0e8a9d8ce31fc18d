import {
  bodyToText,
  GUARD_NOTES,
  type GuardIntent,
  type NestedCallNote,
  type NestedResultNote,
} from '@retake/tape/format'
import {
  type Action,
  type Delivery,
  EMPTY,
  natives,
  type NewDelivery,
  Operation,
  outsideRuns,
  type Overlay,
  type Recording,
  type SecretMask,
  type Session,
} from '@retake/engine/hook'

/**
 * One guarded call that a tool makes. What tools do is no part of the run: on replay
 * they do not run. So the call stands on the tape as two notes, its intent before it
 * starts and its result before it is shown, and its answer comes to the tool at once
 * instead of in a turn of the agent's.
 */
export class NestedSession implements Session {
  #intent: GuardIntent | undefined

  /** `within` names the call that this one is made in, where that one is guarded, too. */
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

  get secrets(): SecretMask {
    return this.owner.secrets
  }

  get overlay(): Overlay | undefined {
    return this.owner.overlay
  }

  get recording(): Recording | undefined {
    return this.owner.recording
  }

  draw<T>(_kind: string, native: () => T): T {
    const value = native()
    this.#intent = value as GuardIntent
    return value
  }

  drawAhead<T>(kind: string, native: () => T): T {
    return this.draw(kind, native)
  }

  perform(action: Action): Operation {
    const { event, body = EMPTY, durable = false } = action
    if (event.type !== 'call' || this.#intent === undefined) return this.#never()
    const as = event.as ?? 'json'
    const note: NestedCallNote = {
      intent: this.#intent,
      tool: event.name,
      as,
      body: bodyToText(as, body),
    }
    const seq = this.keep(GUARD_NOTES.call, jsonBytes(note), durable !== false)
    const operation = new Operation(seq, action, this)
    outsideRuns(() => action.start(operation))
    return operation
  }

  completed(operation: Operation, event: NewDelivery, body: Uint8Array, native: unknown): void {
    if (event.type !== 'result' || this.#intent === undefined) return this.#never()
    const { as, error, guard: facts = { status: 'done' } } = event
    const note: NestedResultNote = {
      op: operation.id,
      facts,
      ...(as && { as, body: bodyToText(as, body) }),
      ...(error && { error }),
    }
    this.keep(GUARD_NOTES.result, jsonBytes(note), Boolean(operation.action.durable))
    // Never before `perform` has returned.
    natives.queueMicrotask(() => operation.deliver({ event, body, native }))
  }

  keep(name: string, body: Uint8Array, isDurable?: boolean): number {
    return this.owner.keep?.(name, body, isDurable) ?? -1
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

  restart(): void {
    this.#never()
  }

  proceed(): void {
    // Nothing is held back.
  }

  forget(): void {
    // No list is kept.
  }

  #never(): never {
    throw new Error('Retake broke one of its own rules: a nested session only makes guarded calls')
  }
}

const jsonBytes = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value), 'utf8')
