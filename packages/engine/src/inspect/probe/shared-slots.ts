/** Memory shared by the paused thread and the inspector thread: where to halt, and the current state. */
export const SLOT = {
  /** Halt at the first event, initiation or delivery, with this number or a later one. */
  wanted: 0,
  /** Halt at the first delivery with this number or a later one. */
  wantedDelivery: 1,
  state: 2,
} as const

export const SLOTS = 3

export const STATE = {
  running: 0,
  /** Asleep: uses no processor time and receives no messages. */
  halted: 1,
  /** Wakes every millisecond, so that messages of the inspector reach the thread. */
  attending: 2,
  /** About to stop at a `debugger` statement. */
  pausing: 3,
  /** The agent has ended; waits until every message has been sent. */
  ending: 4,
} as const

/** No event has this number. */
export const NEVER = 2 ** 31 - 1

export interface InspectorThreadData {
  readonly fd: number
  readonly slots: Int32Array
}

/** Reported to the controller when the thread halts. */
export interface EventPosition {
  /** Number of the event; 0 before any agent code has run. */
  readonly seq: number
  readonly at: 'start' | 'initiation' | 'delivery'
}
