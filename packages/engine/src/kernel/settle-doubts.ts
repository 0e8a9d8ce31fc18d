import { encodeBody, type InitiationEvent, type NewEvent, type Tape } from '@retake/tape/format'
import { nameOf, protocolOf } from './divergence.js'
import { kernelErrors } from './errors.js'
import { describeEvent, describeReceiver } from './event-text.js'
import type { Machine } from './machine.js'
import { EMPTY, type HandshakeMessage, type NewDelivery, type Operation } from './session.js'
import type { AnswerPart } from './source.js'
import { isCutOff } from './timeline.js'

/** An operation that left the process, but may or may not have had its effect according to the tape. */
export interface Doubt {
  /** The event that started it. */
  readonly seq: number
  /** True if a part of the answer has reached the agent. */
  readonly partial: boolean
}

/** A step in doubt when a run went live, and the decision. */
export interface SettledDoubt {
  /** The event that started it. */
  readonly seq: number
  readonly what: string
  /** `done`: it had been done before the kill. `finished`: the rest of it was done. */
  readonly decision: 'retried' | 'skipped' | 'lost' | 'done' | 'finished'
  /** For a write whose file showed how far it got: the bytes that were there, of all. */
  readonly file?: { readonly written: number; readonly length: number }
}

/** Effect on its file of a write that was in progress at a kill. */
export type FileFinding =
  /** Nothing; it can be made. */
  | { readonly state: 'unchanged' }
  /** Everything. */
  | { readonly state: 'complete' }
  /** Only the first bytes are there. */
  | { readonly state: 'partial'; readonly written: number }
  /** The file is neither as before the write nor as the write leaves it. */
  | { readonly state: 'changed'; readonly size?: number }
  | { readonly state: 'unreadable'; readonly code: string }
  /** Another write to the file was in progress, so their order is not known. */
  | { readonly state: 'shared' }

/** Policy for a step that was sent and has no answer on the tape. */
export type InDoubtPolicy = 'retry' | 'skip' | 'fail'

/** One part of an answer, its body as base64. */
export interface PlannedPart {
  readonly event: NewDelivery
  readonly body: string
}

/** What a plan says about operations under way when a run goes live. */
export interface HandOverPlan {
  /** The first event that is not served; the end of the tape by default. */
  readonly until?: number
  /** Answers in place of the recorded ones. */
  readonly answers?: {
    readonly op: number
    readonly parts: readonly PlannedPart[]
    /** For a server on pipes, which gives many answers: the events of the replaced answer. */
    readonly replaces?: readonly number[]
  }
  /** A request to send again although the tape has its answer, optionally with a different body (base64). */
  readonly again?: { readonly op: number; readonly body?: string }
  readonly inDoubt: InDoubtPolicy
  /** Decisions for single operations; they override `inDoubt`. */
  readonly decisions?: Readonly<Record<string, 'retry' | 'skip'>>
  /** Writes that need no decision, because the disk shows how far they got, by event. */
  readonly files?: Readonly<Record<string, FileFinding>>
}

/** A request that a server had not answered when a run went live. */
export interface OpenRequest {
  readonly seq: number
  readonly id: string | number
  readonly line: string
  /** Its later answer on the tape, if any: the events that contain it, and the line. */
  readonly answer: { readonly seqs: readonly number[]; readonly line: string } | undefined
}

/** A child process that serves the agent, at the moment a run goes live. */
export interface RecordedServer {
  /** Messages that a new process must receive before the agent can use it. */
  readonly handshake: readonly HandshakeMessage[]
  readonly open: readonly OpenRequest[]
  /** True if it ended later on the tape. */
  readonly hasEnd: boolean
}

/**
 * What only the steps of a tape tell about operations under way; the kernel knows events, not
 * protocols. Port; implemented by `RunSteps` in `player/run-steps.ts`.
 */
export interface StepReader {
  /** Doubts by the operation that delivers the answer. */
  readonly inDoubt: ReadonlyMap<number, Doubt>
  /** The last step of an operation or connection, unless its outcome is known. */
  doubtAbout(op: number): Doubt | undefined
  /**
   * The missing end of an answer whose content had arrived in full when the run was killed. Without
   * it, the request would be sent again although it was answered.
   */
  missingEnd(op: number): readonly AnswerPart[] | undefined
  /** Names an operation; a request on a pipe by its content. */
  nameOf(seq: number): string
  /** The server behind a process that was alive at event `at`. */
  serverOf(op: number, at: number): RecordedServer | undefined
  /** An error in answer to a request that must not be repeated. */
  refusalOf(request: OpenRequest, message: string): Uint8Array
  /** True if a call without a recorded answer may be made again without a decision. */
  isRepeatable(event: NewEvent<InitiationEvent>): boolean
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

export interface DoubtOptions {
  /** Collects each step in doubt, with its decision. */
  readonly settled: SettledDoubt[]
  readonly steps: StepReader
  readonly machine: Pick<Machine, 'finishWrite' | 'hasInput'>
}

/**
 * Decides about every operation that may have had its effect, but has no answer on the tape. The
 * disk decides about a write to a file, if it shows how far the write got; the plan decides about
 * everything else. Nothing is sent, written or delivered here, so that a run without a decision
 * stops before anything has happened.
 */
export class DoubtSettler {
  constructor(
    readonly tape: Tape,
    readonly plan: HandOverPlan,
    readonly options: DoubtOptions,
  ) {}

  /** True if the run was killed and is served to its last event. */
  get isCut(): boolean {
    return this.plan.until === undefined && isCutOff(this.tape)
  }

  /** Undefined if the recorded run had abandoned the operation. */
  doubtAbout(op: number): Doubt | undefined {
    const { steps } = this.options
    return steps.inDoubt.get(op) ?? (this.isCut ? steps.doubtAbout(op) : undefined)
  }

  /** The decision of the plan. Throws if it has none. */
  decide(seq: number): { decision: 'retry' | 'skip'; settled: Mutable<SettledDoubt> } {
    const what = this.options.steps.nameOf(seq)
    const decision = this.plan.decisions?.[seq] ?? this.plan.inDoubt
    if (decision === 'fail') throw kernelErrors.STEP_IN_DOUBT(what)
    const settled: Mutable<SettledDoubt> = {
      seq,
      what,
      decision: decision === 'retry' ? 'retried' : 'skipped',
    }
    this.options.settled.push(settled)
    return { decision, settled }
  }

  /**
   * Settles a write to a file if the disk shows how far it got: `again`, or a function that writes
   * the missing bytes and returns the answer. `body`: the bytes that the agent writes.
   */
  settleWrite(seq: number, body: Uint8Array = EMPTY): (() => AnswerPart) | 'again' | undefined {
    const finding = this.plan.files?.[seq]
    const event = this.tape.event(seq)
    if (finding === undefined || event.type !== 'call' || event.file === undefined) return undefined
    const { file } = event
    const { length } = file
    const settle = (decision: SettledDoubt['decision'], written: number): void =>
      void this.options.settled.push({
        seq,
        what: describeEvent(event),
        decision,
        file: { written, length },
      })
    if (finding.state === 'unchanged') {
      settle('retried', 0)
      return 'again'
    }
    if (finding.state === 'complete') settle('done', length)
    else if (finding.state === 'partial') settle('finished', finding.written)
    else return undefined
    return () => {
      if (finding.state === 'partial') this.options.machine.finishWrite(file, body, finding.written)
      // Only these return how much they have written.
      const { as, body: count } = /\.writev?(?:Sync)?$/.test(event.name) ? encodeBody(length) : {}
      return { event: { type: 'result', ...(as && { as }) }, body: count ?? EMPTY }
    }
  }

  /**
   * Reports bytes that the agent sent on a connection that is not HTTP, such as one to a database,
   * and that have no answer on the tape. Retake cannot send them again; the client may do so when it
   * reconnects. Not noticed: a request whose answer has begun.
   */
  settleConnection({ id, action }: Operation): void {
    const { digest = '' } = action.stamp?.() ?? {}
    let firstAnswer: Uint8Array | undefined
    let answered = ''
    for (const event of this.tape.events(id)) {
      if (event.type !== 'deliver' || event.op !== id) continue
      answered = event.digest ?? ''
      if (event.part === 'chunk') firstAnswer ??= this.tape.body(event.seq)
    }
    if (digest === answered) return
    const receiver = describeReceiver(nameOf(action.event), protocolOf(action.event, firstAnswer))
    if (this.plan.inDoubt === 'fail') throw kernelErrors.CONNECTION_IN_DOUBT(receiver)
    const what = `bytes sent to ${receiver}`
    this.options.settled.push({ seq: id, what, decision: 'lost' })
  }
}
