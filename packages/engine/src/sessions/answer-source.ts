import type { NewDelivery, Operation, SyncCall } from './session.js'

/** What a call came to, in this process or on a tape. */
export interface Answer {
  readonly event: NewDelivery
  readonly body?: Uint8Array
  readonly native?: unknown
}

/**
 * Where a session that records gets its answers from. Usually that is the
 * outside; it can be a tape, then nothing leaves the process. What is recorded
 * looks the same.
 */
export interface AnswerSource {
  draw<T>(kind: string, native: () => T): T
  /** Answers `operation` later, in parts, through `operation.complete`. */
  start(operation: Operation): void
  /** Answers at once. `op` is the number of the call in the run. */
  run(call: SyncCall, op: number): Answer
}

export const outside: AnswerSource = {
  draw: (_, native) => native(),
  start: (operation) => operation.action.start(operation),
  run: (call) => call.run(),
}
