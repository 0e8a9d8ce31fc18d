import { AsyncResource } from 'node:async_hooks'
import type {
  BodyForm,
  DeliveryEvent,
  FileBefore,
  InitiationEvent,
  NewEvent,
  NoteEvent,
  OutputEvent,
  RetakeError,
  Tape,
} from '@retake/tape/format'
import type { Environment, FileSecrets } from './machine.js'
import type { Mask } from './mask.js'

/** A part of an answer for the agent: the event on the tape, with its body. */
export interface Delivery {
  readonly event: NewDelivery
  readonly body: Uint8Array
  /**
   * The original value if the answer was just produced in this process, while recording or by
   * re-executed work. Missing if it comes from the tape.
   */
  readonly native?: unknown
}

/** A part of an answer before it has a number. */
export type NewDelivery = DeliveryEvent extends infer E
  ? E extends DeliveryEvent
    ? Omit<E, 'seq' | 'at' | 'op'>
    : never
  : never

/** An operation that the agent starts and that answers later, in one or many parts. */
export interface Action {
  readonly event: NewEvent<InitiationEvent>
  readonly body?: Uint8Array
  /** For writes: the file before it; called when the operation is recorded, before it starts. */
  before?(): FileBefore | undefined
  /**
   * True if the operation may have an effect that outlives the run: for requests, tools, processes,
   * threads, messages to the parent process and committed changes to databases, but not for files.
   * Its event and all earlier ones are synced to disk before `start` is called. `deferrable`: other
   * runs of this process need not wait for the disk. A request may start after `perform` has
   * returned; the result of a tool may come later.
   */
  readonly durable?: boolean | 'deferrable'
  /** True for deterministic work, which runs again on replay; only its completion waits for its turn. */
  readonly reexecuted?: boolean
  /**
   * True if parts of the answer that arrive together are delivered in one turn, because the agent
   * cannot act between them.
   */
  readonly joins?: boolean
  /**
   * The new decision of a rerun under a different policy. If denied, the call does not leave the
   * process; if allowed, it gets its recorded answer unless that was a refusal.
   */
  readonly decided?: 'allow' | 'deny' | 'ask'
  /** True if it runs until it is closed, like a watcher. A run that goes live starts it again. */
  readonly lasting?: boolean
  /**
   * Executes the operation, outside the run; reports through `operation.complete`. `edited`
   * replaces `body` if a fork changes the request.
   */
  start(operation: Operation, edited?: Uint8Array): void
  /**
   * Called when a run goes live while the operation is in progress, for a connection that so far
   * exists only on the tape. Opens a real one, now or when the agent next uses it, or ends this one
   * if its protocol cannot be continued. `rest`: recorded answers that the agent gets before live
   * ones. Missing if nothing has to be done.
   */
  handOver?(operation: Operation, rest: readonly Uint8Array[]): void
  /**
   * Called instead of `handOver` for a process that serves the agent, such as an MCP server: starts
   * a real one. The real process first gets `handshake`, the messages that opened the session and
   * whose answers the agent already has. Then it gets `again`, the requests that are sent again.
   */
  restart?(
    operation: Operation,
    handshake: readonly HandshakeMessage[],
    again: readonly string[],
  ): void
  /** Delivers one part of the answer to the agent, alone, in the agent's async context. */
  deliver(delivery: Delivery): void
  /** For sockets: true if the agent waits for no answer, so that later parts would be unsolicited. */
  isIdle?(): boolean
  /** For connections, processes and threads: how much the agent has written, added to each delivery. */
  stamp?(): { readonly written: number; readonly digest: string }
  /** The digest at an earlier length; undefined if no longer known. */
  digestAt?(written: number): string | undefined
}

/**
 * Source of an answer: the outside, the tape as recorded, the tape or the plan with a change, or a
 * simulator.
 */
export type Source = 'live' | 'tape' | 'edited' | 'simulated'

const MANUAL = { requireManualDestroy: true }

/** A started action, until its last part is delivered or the agent gives up on it. */
export class Operation {
  closed = false
  /** Set if re-executed work has finished and waits for its turn. */
  finished: { readonly native: unknown } | undefined
  /** For processes: true if the agent has closed its input, or killed it. */
  hasInputEnded = false
  /** True if a connection from the tape must not be opened for real. */
  isConfined = false
  /** Set when a run goes live: how long, in recorded time, the operation has been in progress. */
  underWayMs = 0
  readonly #context = new AsyncResource('RETAKE', MANUAL)

  constructor(
    /** Number of the event that started it; negative if the tape does not have it. */
    readonly id: number,
    readonly action: Action,
    readonly session: Session,
    /** Only a live operation has a real counterpart. */
    public source: Source = 'live',
  ) {}

  /** Reports one part of the real answer; it reaches the agent through the gate. */
  complete(event: NewDelivery, body?: Uint8Array, native?: unknown): void {
    if (!this.closed) this.session.completed(this, event, body ?? EMPTY, native)
  }

  /** Called when no further part will be delivered: the last one was, or the agent aborted. */
  close(): void {
    this.closed = true
    this.session.forget(this)
  }

  deliver(delivery: Delivery): void {
    this.inContext(() => this.action.deliver(delivery))
  }

  /** Runs something in the async context of the agent's call. */
  inContext(work: () => void): void {
    this.#context.runInAsyncScope(work)
  }
}

export const EMPTY = new Uint8Array(0)

/** True if today's code would decide differently from a recorded value. */
export type IsOutdated<T> = (recorded: T) => boolean

/** How a drawn value is treated. */
export interface DrawOptions<T> {
  /** If it returns true, a rerun draws a new value instead of the recorded one. */
  readonly isOutdated?: IsOutdated<T>
  /** True for a value without text from the program, which is not searched for secrets. */
  readonly isOwn?: (value: T) => boolean
}

/** A live run that is being recorded. */
export interface Recording {
  readonly tape: string
  /** Sets a mark in the run. Marks are not compared on replay. */
  mark(name: string, text: string): void
  /** Calls `work` when the run ends. The process may exit when `work` returns. */
  onEnd(work: () => void): void
  /** Set if the run continues from a tape. */
  readonly continues?: {
    readonly tape: Tape
    /** Number of events served from that tape. */
    readonly at: number
    /** True if the run is resumed, on its own tape or as a branch of it. */
    readonly isResume: boolean
  }
}

/**
 * One pass of agent code under Retake. Boundaries use only this interface. They check `local` and
 * `remote` only where recording and replaying must differ, for example to refuse a use or to open
 * no real resource.
 */
export interface Session {
  readonly closed: boolean
  /** Source of answers from this machine: files, clocks, timers, native add-ons. */
  readonly local: Source
  /** Source of answers from elsewhere: requests, tools, processes. */
  readonly remote: Source
  /** Takes a value from outside, synchronously. It must survive JSON. */
  draw<T>(kind: string, native: () => T, options?: DrawOptions<T>): T
  /** True if the tape has this draw next, or if nothing is served. Missing if nothing ever is. */
  expectsDraw?(kind: string): boolean
  /** Names of the calls on the tape. Missing if nothing is ever served. */
  recordedCalls?(): ReadonlySet<string>
  /** A draw that the agent cannot observe before the next event, so that both may share a write. */
  drawAhead<T>(kind: string, native: () => T, options?: DrawOptions<T>): T
  perform(action: Action): Operation
  /** Makes a synchronous call, such as `readFileSync`. */
  performSync(call: SyncCall): Delivery
  output(stream: OutputEvent['stream'], bytes: Uint8Array): void
  /** Writes bytes of the agent to a child process; with `as`, a message. */
  write(operation: Operation, bytes: Uint8Array, as?: BodyForm): void
  /** Called before bytes leave that are not events: syncs everything that they could depend on. */
  commit(): void
  /**
   * Refuses something that the tape cannot answer. Throws, and ends a replay there, because an
   * agent that catches the error would behave differently than recorded. A rerun goes live instead,
   * unless `mayGoLive` is false. Missing if nothing is served.
   */
  refuse?(error: RetakeError, options?: { readonly mayGoLive: boolean }): void
  note(note: Omit<NewEvent<NoteEvent>, 'type'>, body?: Uint8Array): void
  /**
   * Stores data on the tape, as an attachment, and returns its number. It is on disk when this
   * returns, unless `isDurable` is false. Missing, or -1, if nothing is recorded.
   */
  attach?(name: string, body: Uint8Array, isDurable?: boolean): number
  /** The tape that is written; undefined while answers come from a tape. */
  readonly recording?: Recording | undefined
  /**
   * The run of a session that records nothing: one for calls inside a tool, or after the run ended.
   */
  readonly owner?: Session
  /**
   * Files of a branch; the disk by default. Opaque here: boundaries use `overlayOf` in
   * `overlay/overlay.ts`.
   */
  readonly overlay?: object | undefined
  /** Overlay for databases that the run opens; its overlay by default, or the disk. */
  readonly databases?: object | undefined
  /** The variables of the run; missing on a session that works for another one. */
  readonly environment?: Environment | undefined
  /** The real content of files with secrets; only set while answers come from a tape. */
  readonly files?: FileSecrets | undefined
  /**
   * Hides secrets. Boundaries mask the fields of an initiation, such as its URL; the session masks
   * bodies, and errors and values in answers.
   */
  readonly secrets: Mask
  /** Called when the agent wrote to something, because a delayed answer may be due. */
  proceed(): void
  completed(operation: Operation, event: NewDelivery, body: Uint8Array, native: unknown): void
  /** Called when the agent awaits no part of this operation, perhaps only for now. */
  forget(operation: Operation): void
  /** Called when a timer was refreshed: it has not fired yet, even if that was already reported. */
  refreshed(operation: Operation): void
  /** The task of a program that is really started as event `op`, if the program is recorded, too. */
  childTask?(op: number, program: NodeProgram): ChildTask | undefined
}

export interface SyncCall {
  readonly event: NewEvent<InitiationEvent>
  readonly body?: Uint8Array
  readonly durable?: boolean
  /** As for an action. */
  before?(): FileBefore | undefined
  /** `op` is the number of the call in the run. */
  run(op: number): {
    readonly event: NewDelivery
    readonly body?: Uint8Array
    readonly native?: unknown
  }
}

/** A Node program that the run starts. */
export interface NodeProgram {
  readonly entry: string
  readonly args: readonly string[]
}

/**
 * Instructions for a Node program that the run starts, so that it is recorded or served itself. The
 * kernel only passes them on; `plans/process-task.ts` says what they can contain.
 */
export interface ChildTask {
  readonly tape: string
  /** Plain data for the preload of the started process. */
  readonly task: object
  /**
   * Recorded values of variables that the program inherits. Variables that the run sets itself are
   * not replaced.
   */
  readonly variables?: Readonly<Record<string, string>>
}

/** One line that the agent sent to a server; `id` is set if it expects an answer. */
export interface HandshakeMessage {
  readonly line: string
  readonly id?: string | number
}
