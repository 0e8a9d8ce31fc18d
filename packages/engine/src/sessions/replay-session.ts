import { isDelivery, isInitiation } from '@retake/tape'
import type { DeliveryEvent, InitiationEvent, NewEvent, NoteEvent, OutputEvent, Tape, TapeEvent } from '@retake/tape'
import { createHash } from 'node:crypto'
import { callSite } from '../call-site.js'
import { ReplayDiverged } from '../errors.js'
import { natives } from '../natives.js'
import { outsideRuns, sessionClosed, sessionOpened } from '../scope.js'
import { SecretMask } from '../secrets.js'
import { compareInitiation } from '../signature.js'
import type { Mismatch } from '../signature.js'
import { bodyMismatches } from './body-difference.js'
import { describe } from './divergence.js'
import type { Divergence, DivergenceKind } from './divergence.js'
import { Gate } from './gate.js'
import type { Turn } from './gate.js'
import { EMPTY, Operation } from './session.js'
import type { Action, Delivery, NewDelivery, Session, SyncCall } from './session.js'
import type { RunEnd } from './record-session.js'

export interface ReplayOptions {
  /** `strict` stops at the first difference; `observe` reports every one and goes on. */
  readonly mode?: 'strict' | 'observe'
  /** `full` delivers as fast as possible; `recorded` keeps the recorded gaps. */
  readonly pace?: 'full' | 'recorded'
  /** Called for each divergence, in strict mode once. */
  readonly onDivergence?: (error: ReplayDiverged) => void
  /** Milliseconds without progress after which a silent program counts as diverged. */
  readonly stallMs?: number
  /** Keeps the process alive while it waits for a stall to show. */
  readonly keepAlive?: boolean
}

/** What was served, for receipts and badges. */
export interface ReplayCounts {
  served: number
  reexecuted: number
}

/**
 * Serves the agent from the tape, in the recorded order, and checks that it asks
 * for exactly what it asked for then. There is no way from here to the outside:
 * what the tape does not hold cannot be had.
 */
export class ReplaySession implements Session {
  closed = false
  readonly replaying = true
  readonly counts: ReplayCounts = { served: 0, reexecuted: 0 }
  readonly divergences: Divergence[] = []
  readonly #secrets = new SecretMask()
  readonly #operations = new Map<number, Operation>()
  readonly #strict: boolean
  readonly #startedAt = natives.performanceNow()
  #cursor = 1
  readonly #gate = new Gate(
    () => this.#takeTurn(),
    () => this.#schedule(),
  )
  #stopped: ReplayDiverged | undefined
  #working = 0
  #live = 0
  #watchdog: NodeJS.Timeout | undefined

  constructor(
    readonly tape: Tape,
    readonly options: ReplayOptions = {},
  ) {
    this.#strict = options.mode !== 'observe'
    this.#secrets.addEnvironment(process.env)
    sessionOpened()
    this.#watch()
    this.#schedule()
  }

  /** Number of events consumed so far. */
  get position(): number {
    return this.#cursor
  }

  draw<T>(kind: string, native: () => T): T {
    const event = this.#peek()
    if (event?.type === 'draw' && event.kind === kind) {
      this.#advance()
      return event.value as T
    }
    const found = this.#differs({ type: 'draw', kind, value: undefined }, (ahead) => ahead.type === 'draw' && ahead.kind === kind)
    return found?.type === 'draw' ? (found.value as T) : native()
  }

  perform(action: Action): Operation {
    const event = this.#matchInitiation(action.event, action.body)
    const operation = new Operation(event?.seq ?? -(++this.#live), action, this)
    this.#operations.set(operation.id, operation)
    if (action.reexecuted === true) {
      this.counts.reexecuted += 1
      this.#working += 1
      outsideRuns(() => action.start(operation))
    } else this.counts.served += 1
    return operation
  }

  performSync(call: SyncCall): Delivery {
    const initiation = this.#matchInitiation(call.event, call.body)
    const event = this.#peek()
    if (initiation === undefined || event === undefined || !isDelivery(event) || event.op !== initiation.seq) {
      throw this.#diverge('missing', `no answer to ${describe(call.event)} is on the tape`, 'The recording ends inside this call.', [])
    }
    this.#advance()
    this.counts.served += 1
    return { event, body: this.tape.body(event.seq) }
  }

  output(stream: OutputEvent['stream'], bytes: Uint8Array): void {
    const masked = this.mask(bytes)
    const event = this.#peek()
    if (event?.type === 'output' && event.stream === stream && sameBytes(this.tape.body(event.seq), masked)) {
      this.#advance()
      return
    }
    if (event?.type === 'output' && event.stream === stream) {
      const recorded = this.tape.body(event.seq)
      this.#diverge('output', `it wrote something else to ${stream}`, 'The text written differs from the recorded text.', bodyMismatches(recorded, masked))
      this.#advance()
      return
    }
    this.#differs({ type: 'output', stream }, (ahead) => ahead.type === 'output' && ahead.stream === stream, masked)
  }

  note(_note: Omit<NewEvent<NoteEvent>, 'type'>): void {
    // Notes were written by the recording; they are not part of what is compared.
  }

  mask(bytes: Uint8Array): Uint8Array {
    return this.#secrets.bytes(bytes)
  }

  maskText(text: string): string {
    return this.#secrets.text(text)
  }

  addSecret(name: string, value: string): void {
    this.#secrets.add(name, value)
  }

  hide(value: string): void {
    this.#secrets.hide(value)
  }

  proceed(): void {
    this.#schedule()
  }

  /** Only re-executed work reports here: it is finished, and waits for its recorded turn. */
  completed(operation: Operation, _event: NewDelivery, _body: Uint8Array, native: unknown): void {
    this.#working -= 1
    operation.finished = { native }
    this.#schedule()
  }

  forget(operation: Operation): void {
    this.#operations.delete(operation.id)
  }

  expect(operation: Operation): void {
    this.#operations.set(operation.id, operation)
  }

  /** The program is over: everything recorded must have happened, and come to the same end. */
  finish(end: RunEnd): void {
    if (this.closed) return
    const event = this.#peek()
    if (event !== undefined && event.type !== 'end') {
      const rest = this.tape.count - this.#cursor
      this.#diverge('missing', `the program ended, but the tape goes on with ${describe(event)}`, `${rest} recorded events never happened.`, [])
    } else if (event?.type === 'end') this.#compareEnd(event, end)
    this.close()
  }

  close(): void {
    if (this.closed) return
    this.closed = true
    natives.clearInterval(this.#watchdog)
    sessionClosed()
  }

  #compareEnd(recorded: Extract<TapeEvent, { type: 'end' }>, end: RunEnd): void {
    const mismatches: Mismatch[] = []
    if (recorded.exitCode !== end.exitCode) {
      mismatches.push({ field: 'exit code', recorded: recorded.exitCode, current: end.exitCode })
    }
    if (recorded.error?.message !== end.error?.message) {
      mismatches.push({ field: 'error', recorded: recorded.error?.message, current: end.error?.message })
    }
    const body = end.body && this.mask(end.body)
    if (body !== undefined && !sameBytes(this.tape.body(recorded.seq), body)) {
      mismatches.push(...bodyMismatches(this.tape.body(recorded.seq), body))
    }
    if (mismatches.length === 0) this.#advance()
    else this.#diverge('result', 'the run came to another end', 'Every event matched, but the outcome differs.', mismatches)
  }

  #matchInitiation(current: NewEvent<InitiationEvent>, body: Uint8Array | undefined): InitiationEvent | undefined {
    const event = this.#peek()
    if (event === undefined || event.type !== current.type) {
      const found = this.#differs(current, (ahead) => isInitiation(ahead) && compareInitiation(ahead, current).length === 0, body)
      return found !== undefined && isInitiation(found) ? found : undefined
    }
    invariantInitiation(event)
    const mismatches = compareInitiation(event, current)
    if (!this.#sameBody(event, body)) {
      mismatches.push(...bodyMismatches(this.tape.body(event.seq), body ? this.mask(body) : EMPTY))
    }
    if (mismatches.length > 0) {
      const fields = mismatches.map(({ field }) => field).join(', ')
      const sameCall = mismatches.every(({ field }) => field !== 'kind' && field !== 'name')
      this.#diverge(
        sameCall ? 'different' : 'unexpected',
        sameCall ? `${describe(current)} differs in ${fields}` : `the tape has ${describe(event)}, the program did ${describe(current)}`,
        `The tape has ${describe(event)} here.`,
        mismatches,
      )
    }
    this.#advance()
    return event
  }

  #sameBody(event: InitiationEvent, body: Uint8Array | undefined): boolean {
    const recorded = this.tape.bodySha(event.seq)
    if (recorded === undefined) return (body?.length ?? 0) === 0
    if (body === undefined || body.length === 0) return recorded === EMPTY_SHA
    return createHash('sha256').update(this.mask(body)).digest('hex') === recorded
  }

  /** The next event that the program must ask for or be handed; notes are passed over. */
  #peek(): TapeEvent | undefined {
    if (this.#stopped) throw this.#stopped
    for (; this.#cursor < this.tape.count; this.#cursor += 1) {
      const event = this.tape.event(this.#cursor)
      if (event.type !== 'note') return event.type === 'seal' ? undefined : event
    }
    return undefined
  }

  #advance(): void {
    this.#cursor += 1
    this.#schedule()
  }

  /**
   * The program did something that is not next on the tape. Strict: the end.
   * Observe: skips to the event that fits if one comes before the next delivery.
   */
  #differs(current: Parameters<typeof describe>[0], fits: (ahead: TapeEvent) => boolean, body?: Uint8Array): TapeEvent | undefined {
    const event = this.#peek()
    this.#diverge(
      'unexpected',
      event === undefined
        ? `the program did ${describe(current)} after the recording ended`
        : `the tape has ${describe(event)}, the program did ${describe(current)}`,
      event === undefined
        ? this.tape.status === 'truncated' ? 'The recording was cut off here.' : 'The recorded run had ended by then.'
        : 'The order or the number of calls has changed.',
      event !== undefined && isInitiation(event) && body
        ? bodyMismatches(this.tape.body(event.seq), this.mask(body))
        : [],
    )
    for (let seq = this.#cursor; seq < this.tape.count; seq += 1) {
      const ahead = this.tape.event(seq)
      if (isDelivery(ahead)) return undefined
      if (!fits(ahead)) continue
      this.#cursor = seq
      this.#advance()
      return ahead
    }
    return undefined
  }

  #diverge(kind: DivergenceKind, summary: string, explanation: string, mismatches: readonly Mismatch[]): ReplayDiverged {
    const recorded = this.#cursor < this.tape.count ? this.tape.event(this.#cursor) : undefined
    const site = callSite()
    const divergence: Divergence = {
      seq: this.#cursor,
      kind,
      summary,
      explanation,
      mismatches,
      ...(recorded && { recorded }),
      ...(site !== undefined && { site }),
    }
    this.divergences.push(divergence)
    const error = new ReplayDiverged(divergence)
    if (this.#strict) this.#stopped = error
    this.options.onDivergence?.(error)
    if (this.#strict) throw error
    return error
  }

  #schedule(): void {
    if (this.#gate.requested || this.#stopped || this.closed) return
    const event = this.#peek()
    if (event === undefined || !isDelivery(event)) return
    const isPaced = this.options.pace === 'recorded'
    this.#gate.request(isPaced ? event.at - (natives.performanceNow() - this.#startedAt) : 0)
  }

  #takeTurn(): Turn | undefined {
    if (this.#stopped || this.closed) return undefined
    const event = this.#peek()
    if (event === undefined || !isDelivery(event)) return undefined
    const operation = this.#operations.get(event.op)
    try {
      if (operation === undefined) this.#skipDelivery(event)
      else if (this.#isDue(operation, event)) {
        this.#cursor += 1
        return { operation, delivery: { event, body: this.tape.body(event.seq), native: operation.finished?.native } }
      }
    } catch (error) {
      // A divergence was reported; there is no agent frame here to throw it into.
      if (!(error instanceof ReplayDiverged)) throw error
    }
    return undefined
  }

  /** Re-executed work must have finished, and a socket's agent must have written what it had written then. */
  #isDue(operation: Operation, event: DeliveryEvent): boolean {
    if (operation.action.reexecuted === true) return operation.finished !== undefined
    if (event.type !== 'deliver' || event.written === undefined) return true
    const stamp = operation.action.stamp?.()
    if (stamp === undefined || stamp.written < event.written) return false
    if (event.digest !== undefined && stamp.written === event.written && stamp.digest !== event.digest) {
      this.#diverge('different', 'the bytes written to a connection differ', `The tape has ${describe(event)} after other bytes were sent.`, [
        { field: 'sent bytes (sha256)', recorded: event.digest, current: stamp.digest },
      ])
    }
    return true
  }

  #skipDelivery(event: DeliveryEvent): void {
    this.#diverge(
      'missing',
      `the tape delivers ${describe(event)}, which the program is not waiting for`,
      'The program gave up on it earlier than it did when recorded, or never started it.',
      [],
    )
    this.#advance()
  }

  /** A program that waits for something the tape will never deliver would otherwise hang. */
  #watch(): void {
    const stallMs = this.options.stallMs ?? 4000
    let seen = -1
    this.#watchdog = natives.setInterval(() => {
      if (this.#cursor !== seen || this.#working > 0 || this.#gate.requested || this.#stopped) {
        seen = this.#cursor
        return
      }
      const event = this.#peek()
      natives.clearInterval(this.#watchdog)
      if (event === undefined) return
      try {
        this.#diverge('missing', `the program waits, but the tape goes on with ${describe(event)}`, `Nothing happened for ${stallMs} ms.`, [])
      } catch {
        // Strict: reported through onDivergence.
      }
    }, stallMs)
    if (this.options.keepAlive !== true) this.#watchdog.unref()
  }
}

function invariantInitiation(event: TapeEvent): asserts event is InitiationEvent {
  if (!isInitiation(event)) throw new Error('Retake invariant broken: an initiation was expected')
}

const EMPTY_SHA = createHash('sha256').update('').digest('hex')

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0
}
