import { kernelErrors } from '../kernel/errors.js'
import { OTHER_PROGRAM } from '../player/content-matcher.js'
import { install } from '../boundaries/install.js'
import { errors, type RetakeError, answerNotOnTape } from '../errors.js'
import { openForReplay } from '../runs/open-for-replay.js'
import { openRecording, type RecordedRun, type RecordOptions } from './record.js'
import { runToEnd, stoppable } from './run-to-end.js'
import { currentSession, outsideRuns } from '../kernel/scope.js'
import type { NewDelivery, Operation, Session, SyncCall } from '../kernel/session.js'
import type { CallKind, InitiationEvent, NewEvent, Tape } from '@retake/tape/format'
import { findDoubts } from '../player/find-doubts.js'
import { type Answer, type AnswerSource, outside } from '../kernel/source.js'
import type { DivergenceFacts } from '../kernel/divergence.js'
import { TapeSource } from '../player/tape-source.js'

interface AnsweringSourceOptions {
  /** Policy for operations without an answer on the tape. */
  readonly otherwise: 'fail' | 'live'
  readonly session: () => Pick<Session, 'closed' | 'secrets'>
  readonly onStopped: (error: RetakeError) => void
}

/**
 * Answers outgoing calls from a tape: requests, connections, tools, processes, threads, host names.
 * Files, clocks, random values and timers are real: the program need not be the recorded one.
 */
class AnsweringSource implements AnswerSource {
  readonly local = 'live'
  readonly remote = 'tape'
  /** Number of requests, tools and processes, by source of the answer. */
  readonly counts = { served: 0, live: 0 }
  readonly #tape: TapeSource
  #doubts: ReadonlyMap<number, string> | undefined

  constructor(
    readonly tape: Tape,
    readonly options: AnsweringSourceOptions,
  ) {
    this.#tape = new TapeSource(tape, {
      from: 1,
      order: { seed: 0 },
      session: options.session,
      onStopped: options.onStopped,
      errorFor: answerNotOnTape,
      rules: OTHER_PROGRAM,
      stopInDoubt: (seq) => {
        // In a completed run, nothing is in doubt.
        if (this.tape.status !== 'truncated') return undefined
        this.#doubts ??= new Map(findDoubts(this.tape).map((doubt) => [doubt.seq, doubt.what]))
        const what = this.#doubts.get(seq)
        if (what === undefined) return undefined
        const error = kernelErrors.STEP_IN_DOUBT(what)
        this.options.onStopped(error)
        return error
      },
    })
  }

  get divergences(): readonly DivergenceFacts[] {
    return this.#tape.divergences
  }

  /** Answers operations from this event on again, in their order. */
  rewindTo(seq: number): void {
    this.#tape.rewindTo(seq)
  }

  draw<T>(kind: string, native: () => T): T {
    const value = native()
    this.#tape.noteDrawn(kind, value)
    return value
  }

  start(operation: Operation): void {
    const { event, body } = operation.action
    if (!this.#isServed(event, body)) return outside.start(operation)
    operation.source = 'tape'
    this.#tape.start(operation)
  }

  run(call: SyncCall, op: number): Answer {
    return this.#isServed(call.event, call.body) ? this.#tape.run(call) : outside.run(call, op)
  }

  wrote(operation: Operation, bytes: Uint8Array): void {
    if (operation.source === 'tape') this.#tape.wrote(operation, bytes)
  }

  delivering(operation: Operation, event: NewDelivery): void {
    if (operation.source === 'tape' || event.from !== undefined)
      this.#tape.delivering(operation, event)
  }

  #isServed(event: NewEvent<InitiationEvent>, body: Uint8Array | undefined): boolean {
    const isMatchable =
      event.type === 'request' ||
      event.type === 'socket' ||
      (event.type === 'call' && MATCHABLE_CALLS.has(event.kind))
    if (!isMatchable) return false
    const isServed = this.options.otherwise === 'fail' || this.#canServe(event, body)
    if (event.type === 'request' || (event.type === 'call' && event.kind !== 'dns'))
      this.counts[isServed ? 'served' : 'live'] += 1
    return isServed
  }

  /** A connection of the tape becomes a real one while a live request is on it. */
  #canServe(event: NewEvent<InitiationEvent>, body: Uint8Array | undefined): boolean {
    const has = this.#tape.has(event, body)
    if (event.type !== 'request' || event.socket === undefined) return has
    const connection = this.#tape.connection(event.socket)
    if (connection !== undefined) connection.source = has ? 'tape' : 'live'
    return connection !== undefined && has
  }
}

const MATCHABLE_CALLS: ReadonlySet<CallKind> = new Set(['tool', 'process', 'worker', 'dns'])

export interface AnswerFromOptions extends Partial<RecordOptions> {
  /**
   * Policy for a request, tool call or process that is not on the tape: `fail` (default)
   * stops with an error that names it, `live` sends it.
   */
  readonly otherwise?: 'fail' | 'live'
}

export interface AnsweredResult<T> {
  readonly output: T
  /** The tape of this run, which can be replayed like any other. */
  readonly run: RecordedRun
  /** Requests, tool calls and processes that the tape answered. */
  readonly served: number
  /** Number of live ones; always 0 unless `otherwise` is `live`. */
  readonly live: number
}

const answering = new WeakMap<Session, AnsweringSource>()

/**
 * Runs `body` with a recorded run in place of the outside. Each request, tool call, process and
 * thread gets the answer of an equal recorded one, in recorded order, starting over if it is made
 * more often. `body` need not be the recorded program, nor follow its order. Values in a request
 * that come from a clock or from random numbers may differ. Files, time and random numbers are
 * real.
 */
export async function answerFrom<T>(
  tape: string,
  body: () => T | Promise<T>,
  options: AnswerFromOptions = {},
): Promise<AnsweredResult<T>> {
  install()
  if (currentSession() !== undefined) throw errors.RUN_INSIDE_RUN()
  const { stopped, stop } = stoppable()
  const { session, run, answers } = outsideRuns(() => open(tape, options, stop))
  answering.set(session, answers)
  try {
    const output = await Promise.race([stopped, runToEnd(session, body)])
    return { output, run, ...answers.counts }
  } finally {
    outsideRuns(() => {
      // After an error, the recorded part remains, as for a killed run.
      if (session.closed) return
      session.close()
      session.writer.close()
    })
  }
}

/** The tape that answers in place of the outside, inside `answerFrom`. */
export const answeringTape = (): AnsweringSource | undefined => {
  const session = currentSession()
  return session && answering.get(session)
}

function open(path: string, options: AnswerFromOptions, onStopped: (error: Error) => void) {
  const tape = openForReplay(path)
  const { otherwise = 'fail', name = tape.run.name, ...rest } = options
  const answers: AnsweringSource = new AnsweringSource(tape, {
    otherwise,
    session: () => recording.session,
    onStopped,
  })
  const recording = openRecording({ ...rest, name }, { answers })
  return { ...recording, answers }
}
