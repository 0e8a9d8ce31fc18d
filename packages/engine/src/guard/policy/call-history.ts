import type { Effect, GuardStatus } from '@retake/tape'

/** A guarded call that was made. */
export interface PastCall {
  readonly tool: string
  readonly args: unknown
  readonly effects: readonly Effect[] | undefined
  readonly status: GuardStatus
  readonly output: unknown
}

/** The calls of a run so far, in the order they were made, for rules that look back. */
export class CallHistory {
  readonly calls: PastCall[] = []

  add(call: PastCall): void {
    this.calls.push(call)
  }
}
