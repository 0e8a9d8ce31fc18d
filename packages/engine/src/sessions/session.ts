import { AsyncResource } from 'node:async_hooks'
import type {
  BodyForm,
  DeliveryEvent,
  GuardVerdict,
  InitiationEvent,
  NewEvent,
  NoteEvent,
  OutputEvent,
} from '@retake/tape/format'
import type { ChildTask, NodeProgram } from '../boundaries/processes/recorded-child.js'
import type { HandshakeMessage } from '../boundaries/processes/repeated-handshake.js'
import type { RetakeError } from '../errors.js'
import type { Overlay } from '../overlay/overlay.js'
import type { Environment } from '../environment.js'
import type { ServedFiles } from '../served-files.js'
import type { SecretMask } from '../secrets.js'
import type { Recording } from './recording.js'

/** A part of an answer as it reaches the agent: the event on the tape, with its body. */
export interface Delivery {
  readonly event: NewDelivery
  readonly body: Uint8Array
  /**
   * The original value when the answer was produced in this process just now
   * (recording, or re-executed work). Absent when it comes from the tape.
   */
  readonly native?: unknown
}

/** A part of an answer before the tape has numbered it. */
export type NewDelivery = DeliveryEvent extends infer E
  ? E extends DeliveryEvent
    ? Omit<E, 'seq' | 'at' | 'op'>
    : never
  : never

/** One thing the agent starts and that answers later, in one or many parts. */
export interface Action {
  readonly event: NewEvent<InitiationEvent>
  readonly body?: Uint8Array
  /**
   * The effect leaves the process: everything before it must be on disk first. `deferrable`:
   * `start` may come after `perform` has returned, so that other runs need not wait for the disk.
   */
  readonly durable?: boolean | 'deferrable'
  /** Deterministic work: runs again on replay, only its completion waits for its turn. */
  readonly reexecuted?: boolean
  /** Parts of the answer that come together are delivered in one turn: the agent cannot act between them. */
  readonly joins?: boolean
  /**
   * A rerun under another policy has decided about it anew. Denied, it does not leave the process;
   * allowed, it gets its recorded answer unless that was a refusal.
   */
  readonly decided?: GuardVerdict
  /** Runs until it is closed, like a watcher: a run that goes live restarts it. */
  readonly lasting?: boolean
  /**
   * Does the real thing, outside the run; reports through `operation.complete`.
   * `edited` replaces `body`, where a fork changes the request.
   */
  start(operation: Operation, edited?: Uint8Array): void
  /**
   * Connections and processes that the tape has opened and that a run which goes
   * live still holds: from now on there must be something real behind them.
   * Without this, nothing has to be done.
   */
  handOver?(operation: Operation): void
  /**
   * Processes that serve the agent: starts a new one in place of one that only the
   * tape has. It receives `handshake`, whose answers the agent has had, then `again`.
   */
  restart?(
    operation: Operation,
    handshake: readonly HandshakeMessage[],
    again: readonly string[],
  ): void
  /** Hands one part of the answer to the agent, alone, in the agent's own async context. */
  deliver(delivery: Delivery): void
  /** Sockets: how much the agent has written, added to each delivery. */
  stamp?(): { readonly written: number; readonly digest: string }
  /** The digest at an earlier length; undefined if that is no longer known. */
  digestAt?(written: number): string | undefined
}

/**
 * Where the answer to an operation comes from: the outside, the tape as recorded, the tape
 * or the plan with a change, or a simulator.
 */
export type Source = 'live' | 'tape' | 'edited' | 'simulated'

const MANUAL = { requireManualDestroy: true }

/** A started action until its last part is delivered or the agent gives up on it. */
export class Operation {
  closed = false
  /** Set when re-executed work has finished and waits for its turn. */
  finished: { readonly native: unknown } | undefined
  /** Processes: the agent has closed its input, or killed it. */
  hasInputEnded = false
  /** Set when a run goes live: for how long, in recorded time, it has been under way. */
  underWayMs = 0
  readonly #context = new AsyncResource('RETAKE', MANUAL)

  constructor(
    readonly id: number,
    readonly action: Action,
    readonly session: Session,
    /** Who answers it; only behind a live one there is something real. */
    public source: Source = 'live',
  ) {}

  /** Reports one part of the real answer; it reaches the agent through the gate. */
  complete(event: NewDelivery, body?: Uint8Array, native?: unknown): void {
    if (!this.closed) this.session.completed(this, event, body ?? EMPTY, native)
  }

  /** No further part will be delivered: the last one was, or the agent aborted. */
  close(): void {
    this.closed = true
    this.session.forget(this)
  }

  deliver(delivery: Delivery): void {
    this.inContext(() => this.action.deliver(delivery))
  }

  /** Does something in the async context of the agent's call. */
  inContext(work: () => void): void {
    this.#context.runInAsyncScope(work)
  }
}

export const EMPTY = new Uint8Array(0)

export type IsOutdated<T> = (recorded: T) => boolean

/**
 * One pass of agent code under Retake. Boundaries talk to this interface only;
 * whether they record or replay is not their business.
 */
export interface Session {
  readonly closed: boolean
  /** Behaviours of the recorder that this run follows; none unless set. */
  readonly flags?: readonly string[]
  /** Who answers calls to this machine: files, clocks, timers, native add-ons. */
  readonly local: Source
  /** Who answers calls to others: requests, tools, processes. */
  readonly remote: Source
  /**
   * A value from outside, needed synchronously. It must survive JSON. `isOutdated`: today's code
   * would decide otherwise; a rerun then draws a new value instead of the recorded one.
   */
  draw<T>(kind: string, native: () => T, isOutdated?: IsOutdated<T>): T
  /** A draw of which the agent sees nothing before the next event: both may share a write. */
  drawAhead<T>(kind: string, native: () => T, isOutdated?: IsOutdated<T>): T
  perform(action: Action): Operation
  /** A call that answers in the same breath, like `readFileSync`. */
  performSync(call: SyncCall): Delivery
  output(stream: OutputEvent['stream'], bytes: Uint8Array): void
  /** Bytes that the agent writes to a child process. `as`: it is a message, not bytes. */
  write(operation: Operation, bytes: Uint8Array, as?: BodyForm): void
  /**
   * Refuses something that the tape cannot answer. Throws, and ends a replay there: an agent
   * that catches the error would then do something other than was recorded. Missing if
   * nothing is served.
   */
  refuse?(error: RetakeError): void
  note(note: Omit<NewEvent<NoteEvent>, 'type'>, body?: Uint8Array): void
  /**
   * Puts something on the tape beside what happens, like a `kept` note, and says its
   * number. It is on disk when this returns, unless `isDurable` is false. Missing, or -1,
   * where nothing is recorded.
   */
  keep?(name: string, body: Uint8Array, isDurable?: boolean): number
  /** The tape that is written; undefined while answers come from a tape. */
  readonly recording?: Recording | undefined
  /** The run this session works for, when it is not the run's own. */
  readonly owner?: Session
  /** Where the files go that a branch writes; without it they are those of the disk. */
  readonly overlay?: Overlay | undefined
  /** Destination of databases that the run opens; defaults to its overlay, or the disk. */
  readonly databases?: Overlay | undefined
  /** The variables of the run; undefined if they are those of the process, as with older tapes. */
  readonly environment?: Environment | undefined
  /** The real content of files with secrets; only while answers come from a tape. */
  readonly files?: ServedFiles | undefined
  /** Values that must not be on the tape. */
  readonly secrets: SecretMask
  /** The agent wrote to something: a delayed answer may be due now. */
  proceed(): void
  completed(operation: Operation, event: NewDelivery, body: Uint8Array, native: unknown): void
  /** No part of this operation is awaited, for now. */
  forget(operation: Operation): void
  /** A timer was refreshed: parts of it that are on their way are void, later ones are awaited again. */
  restart(operation: Operation): void
  /** The task of a program that is really started as event `op`, if it runs under Retake, too. */
  childTask?(op: number, program: NodeProgram): ChildTask | undefined
}

export interface SyncCall {
  readonly event: NewEvent<InitiationEvent>
  readonly body?: Uint8Array
  readonly durable?: boolean
  /** `op` is the number of the call in the run. */
  run(op: number): {
    readonly event: NewDelivery
    readonly body?: Uint8Array
    readonly native?: unknown
  }
}
