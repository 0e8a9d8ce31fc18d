/** Memory that the held thread and the inspector thread share: where to hold, and the current state. */
export const SLOT = {
  /** Hold at the first event, initiation or delivery, with this number or a later one. */
  wanted: 0,
  /** Hold at the first delivery with this number or a later one. */
  wantedDelivery: 1,
  state: 2,
} as const

export const SLOTS = 3

export const STATE = {
  running: 0,
  /** Asleep: costs nothing, hears nothing. */
  halted: 1,
  /** Awake every millisecond, so that messages of the inspector reach the thread. */
  attending: 2,
  /** About to stop at a `debugger` statement. */
  pausing: 3,
} as const

/** No event has this number. */
export const NEVER = 2 ** 31 - 1

/** Data for the start of the inspector thread. */
export interface InspectorThreadData {
  readonly fd: number
  readonly slots: Int32Array
}

/** Told to the controller when the thread is held. */
export interface EventPosition {
  /** Number of the event; 0 before any code of the agent has run. */
  readonly seq: number
  readonly at: 'start' | 'initiation' | 'delivery'
}
