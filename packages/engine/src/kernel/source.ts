import type { Mask } from './mask.js'
import type { DivergenceFacts } from './divergence.js'
import type { IsOutdated, NewDelivery, Operation, Session, SyncCall } from './session.js'
import {
  type DeliveryEvent,
  type InitiationEvent,
  type NewEvent,
  recordError,
  type Tape,
} from '@retake/tape/format'

/** The result of a call, from this process or from a tape. */
export interface Answer {
  readonly event: NewDelivery
  readonly body?: Uint8Array
  readonly native?: unknown
}

/**
 * Where a recording session gets its answers: usually from outside. If the source is a tape,
 * nothing leaves the process, but the recording looks the same.
 */
export interface AnswerSource {
  draw<T>(kind: string, native: () => T, isOutdated?: IsOutdated<T>): T
  /** Answers `operation` later, in parts, through `operation.complete`. */
  start(operation: Operation): void
  /** Answers synchronously. `op` is the number of the call in the run. */
  run(call: SyncCall, op: number): Answer
  readonly local: Session['local']
  readonly remote: Session['remote']
  /** Operations for which a tape had no answer. */
  readonly divergences?: readonly DivergenceFacts[]
  /** Called for bytes that the agent writes to a process, as event `seq`; they are masked. */
  wrote?(operation: Operation, bytes: Uint8Array, seq: number): void
  /** Called when the agent has written to something or closed it, because an answer may be due. */
  proceed?(): void
  /** Called immediately before a part reaches the agent. */
  delivering?(operation: Operation, event: NewDelivery): void
  /** Called when a timer was refreshed. */
  refreshed?(operation: Operation): void
  childTask?: NonNullable<Session['childTask']>
}

export const outside: AnswerSource = {
  local: 'live',
  remote: 'live',
  draw: (_, native) => native(),
  start: (operation) => operation.action.start(operation),
  run: (call, op) => call.run(op),
}

/** One part of an answer that does not come from outside: invented, edited, or recorded earlier. */
export interface AnswerPart {
  readonly event: NewDelivery
  readonly body: Uint8Array
}

/** True if it reached the agent together with the part before it. */
export const isJoined = (event: NewDelivery): boolean => 'joined' in event

/** A recorded part to be delivered again: with its origin, and without its count of written bytes. */
export function recordedPart(
  tape: Tape,
  recorded: DeliveryEvent,
  { given }: Pick<Mask, 'given'>,
): AnswerPart {
  const { seq, at: _at, op: _op, ...part } = recorded
  const {
    written: _written,
    digest: _digest,
    ...event
  } = part as NewDelivery & { written?: number; digest?: string }
  return { event: { ...given.event(event), from: seq }, body: given.body(tape, seq) }
}

export const isPart = (event: NewDelivery, part: string): boolean =>
  event.type === 'deliver' && event.part === part

/** True if this part completes an answer; for a process, `close` does. */
export function endsAnswer(part: NewDelivery): boolean {
  if (part.type === 'result') return true
  if (part.type === 'response') return part.empty === true
  return part.part === 'end' || part.part === 'close' || part.part === 'error'
}

/** An error as an answer: as the only part, or as the last of several. */
export function errorAnswer(isSingle: boolean, failure: Error): NewDelivery {
  const error = recordError(failure)
  return isSingle ? { type: 'result', error } : { type: 'deliver', part: 'error', error }
}

/** True for a call whose answer is one part; processes, threads and streams have several. */
export const hasSingleAnswer = (event: NewEvent<InitiationEvent>): boolean =>
  event.type === 'call' && ['tool', 'file', 'dns', 'database'].includes(event.kind)
