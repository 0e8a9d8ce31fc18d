import type { InitiationEvent, NewEvent, Tape } from '@retake/tape'
import type { RetakeError } from '../errors.js'
import { findInDoubt } from '../continue/in-doubt.js'
import { errors } from '../errors.js'
import { outside } from '../sessions/answer-source.js'
import type { Answer, AnswerSource } from '../sessions/answer-source.js'
import type { Divergence } from '../sessions/divergence.js'
import type { NewDelivery, Operation, Session, SyncCall } from '../sessions/session.js'
import { TapeAnswers } from './tape-answers.js'

export interface AskedAnswersOptions {
  /** What becomes of something that the tape has no answer to. */
  readonly otherwise: 'fail' | 'live'
  readonly session: () => Pick<Session, 'closed' | 'secrets'>
  readonly onStopped: (error: RetakeError) => void
}

/**
 * Answers what the agent asks of others from a tape: requests, connections, tools,
 * processes, threads, names of hosts. Files, clocks, chance and timers are those of this
 * computer, now: the program need not be the one that was recorded.
 */
export class AskedAnswers implements AnswerSource {
  readonly keepsIn = true
  /** Requests, tools and processes, by who answered. */
  readonly counts = { served: 0, live: 0 }
  readonly #tape: TapeAnswers
  #doubts: ReadonlyMap<number, string> | undefined

  constructor(
    readonly tape: Tape,
    readonly options: AskedAnswersOptions,
  ) {
    this.#tape = new TapeAnswers(tape, {
      from: 1,
      order: { seed: 0 },
      session: options.session,
      onStopped: options.onStopped,
      errorFor: errors.answerNotOnTape,
      answersAgain: true,
      stopInDoubt: (seq) => this.#stopInDoubt(seq),
    })
  }

  get divergences(): readonly Divergence[] {
    return this.#tape.divergences
  }

  /** What was recorded from this event on is answered in its order once more. */
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
    operation.isTaped = true
    this.#tape.start(operation)
  }

  run(call: SyncCall, op: number): Answer {
    return this.#isServed(call.event, call.body) ? this.#tape.run(call) : outside.run(call, op)
  }

  wrote(operation: Operation, bytes: Uint8Array): void {
    if (operation.isTaped) this.#tape.wrote(operation, bytes)
  }

  delivering(operation: Operation, event: NewDelivery): void {
    if (operation.isTaped || event.from !== undefined) this.#tape.delivering(operation, event)
  }

  /** A completed run has an answer for everything that could be in doubt. */
  #stopInDoubt(seq: number): RetakeError | undefined {
    if (this.tape.status !== 'truncated') return undefined
    this.#doubts ??= new Map(findInDoubt(this.tape).map((doubt) => [doubt.seq, doubt.what]))
    const what = this.#doubts.get(seq)
    if (what === undefined) return undefined
    const error = errors.answerInDoubt(what)
    this.options.onStopped(error)
    return error
  }

  #isServed(event: NewEvent<InitiationEvent>, body: Uint8Array | undefined): boolean {
    if (!isAsked(event)) return false
    const isServed = this.options.otherwise === 'fail' || this.#canServe(event, body)
    if (event.type === 'request' || (event.type === 'call' && event.kind !== 'dns'))
      this.counts[isServed ? 'served' : 'live'] += 1
    return isServed
  }

  /** A connection of the tape becomes a real one where a request is really asked on it, for as long as that takes. */
  #canServe(event: NewEvent<InitiationEvent>, body: Uint8Array | undefined): boolean {
    const has = this.#tape.has(event, body)
    if (event.type !== 'request' || event.socket === undefined) return has
    const connection = this.#tape.connection(event.socket)
    if (connection !== undefined) connection.isTaped = has
    return connection !== undefined && has
  }
}

const isAsked = (event: NewEvent<InitiationEvent>): boolean =>
  event.type === 'request' ||
  event.type === 'socket' ||
  (event.type === 'call' &&
    (event.kind === 'tool' ||
      event.kind === 'process' ||
      event.kind === 'worker' ||
      event.kind === 'dns'))
