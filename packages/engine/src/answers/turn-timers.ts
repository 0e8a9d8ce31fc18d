import type { TimerEvent } from '@retake/tape'
import type { Operation } from '../sessions/session.js'
import type { HeldOperation } from './held-operation.js'
import { PendingAnswer } from './pending-answer.js'
import type { RecordedOperation } from './recorded-answers.js'
import type { RecordedIndex } from './recorded-index.js'

interface Started {
  readonly operation: Operation
  readonly work: HeldOperation | undefined
  /** What was asked before and after it in the same turn, as the recording knows it. */
  readonly askedBefore: RecordedOperation | undefined
  askedAfter: RecordedOperation | undefined
}

/** A program that has waited for this many timers in vain waits for ever. */
const LAST_RESORTS_MAX = 5000

/**
 * Timers and local work. They ask for nothing that could tell one from another,
 * so they are matched when the turn they were started in is over: by how long they
 * wait, by the turn, and by what was started beside them, as the request is beside
 * its timeout.
 *
 * Only timers that fired in the recording fire, in the order they are due in a
 * time that stands still between them. One that the recording does not have fires
 * when nothing else can happen, if one like it has fired then, and intervals tick
 * on beside it: a program may look again and again whether something has happened.
 */
export class TurnTimers {
  #started: Started[] = []
  #asked: RecordedOperation | undefined
  #now = 0
  #lastResorts = 0
  readonly #unknown = new Set<PendingAnswer>()

  constructor(readonly index: RecordedIndex) {}

  add(operation: Operation, work?: HeldOperation): void {
    this.#started.push({ operation, work, askedBefore: this.#asked, askedAfter: undefined })
  }

  /** Something was asked in this turn, and this is what it was in the recording. */
  noteAsked(recorded: RecordedOperation): void {
    this.#asked = recorded
    for (const started of this.#started) started.askedAfter ??= recorded
  }

  /** The turn is over: what was started in it can be matched. */
  match(turn: number): PendingAnswer[] {
    const started = this.#started
    this.#started = []
    this.#asked = undefined
    return started.map((one) => {
      const { operation, work } = one
      const recorded = this.#take(one, turn)
      const pending = new PendingAnswer(this.index.recorded, operation, recorded, {
        ...(work && { work }),
      })
      if (pending.isTimer) {
        pending.due = this.#now + msOf(operation)
        if (recorded === undefined) this.#unknown.add(pending)
      }
      return pending
    })
  }

  fired(pending: PendingAnswer): void {
    this.#now = Math.max(this.#now, pending.due)
    this.#unknown.delete(pending)
    if (kindOf(pending.operation) === 'interval') pending.due = this.#now + msOf(pending.operation)
    else pending.armed = false
  }

  /** It has no more recorded times: only intervals, and timers that nobody knows, may still fire. */
  isOver(pending: PendingAnswer): boolean {
    return !this.#unknown.has(pending) && kindOf(pending.operation) !== 'interval'
  }

  restart(operation: Operation, pending: readonly PendingAnswer[]): void {
    const found = pending.find((one) => one.operation === operation)
    if (found === undefined) return
    found.armed = true
    found.due = this.#now + msOf(operation)
  }

  /** It waits for something that will not come in any time. */
  get goesOnForEver(): boolean {
    return this.#lastResorts >= LAST_RESORTS_MAX
  }

  /** When nothing else can happen. */
  lastResort(pending: readonly PendingAnswer[]): PendingAnswer | undefined {
    const unknown = pending.filter(
      (one) => this.#unknown.has(one) && this.#firedLike(one.operation),
    )
    if (unknown.length === 0 || this.goesOnForEver) return undefined
    this.#lastResorts += 1
    const intervals = pending.filter(
      (one) => one.isExhausted && one.parts.length > 0 && kindOf(one.operation) === 'interval',
    )
    return [...unknown, ...intervals].toSorted((a, b) => a.due - b.due)[0]
  }

  #take({ operation, ...asked }: Started, turn: number): RecordedOperation | undefined {
    const { event } = operation.action
    const candidates = this.index.unused(event)
    const alike =
      event.type === 'timer'
        ? candidates.filter((one) => (one.event as TimerEvent).ms === event.ms)
        : candidates
    const found =
      alike.find((one) => isBeside(one, asked)) ??
      alike.find((one) => one.turn === turn) ??
      alike[0] ??
      candidates.find((one) => one.turn === turn)
    if (found !== undefined) found.used = true
    return found
  }

  #firedLike(operation: Operation): boolean {
    const ms = msOf(operation)
    return this.index.recorded.operations.some(
      ({ event, parts }) =>
        event.type === 'timer' &&
        event.kind === kindOf(operation) &&
        parts.length > 0 &&
        event.ms <= ms * 2 &&
        event.ms * 2 >= ms,
    )
  }
}

/** Whether the same was asked after it then, or before it where nothing followed. */
function isBeside(
  recorded: RecordedOperation,
  { askedBefore, askedAfter }: Pick<Started, 'askedBefore' | 'askedAfter'>,
): boolean {
  if (askedAfter !== undefined) return recorded.askedAfter === askedAfter.event.seq
  if (askedBefore === undefined || recorded.askedAfter !== undefined) return false
  return recorded.askedBefore === askedBefore.event.seq
}

const msOf = ({ action: { event } }: Operation): number => (event.type === 'timer' ? event.ms : 0)
const kindOf = ({ action: { event } }: Operation): string | undefined =>
  event.type === 'timer' ? event.kind : undefined
