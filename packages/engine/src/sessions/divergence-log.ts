import { callSite } from '../call-site.js'
import { ReplayDiverged } from '../errors.js'
import type { RetakeError } from '../errors.js'
import type { Mismatch } from '../signature.js'
import type { Divergence, DivergenceKind } from './divergence.js'
import type { TapeCursor } from './tape-cursor.js'

/** When a session goes from the tape to the outside. Without it a replay stops there. */
export type Leave = 'at the end' | 'on mismatch'

/** Thrown to leave the tape: nothing was consumed by the call that found it out, and it can be made live. */
export class LeftTape extends Error {
  override readonly name = 'LeftTape'
  constructor(
    readonly why: Divergence,
    /** A call whose start was on the tape and whose answer is not. */
    readonly answering?: number,
  ) {
    super(why.summary)
  }
}

/** Keeps what a replay found. In strict mode the first finding stops it: it is thrown, and nothing more is served. */
export class DivergenceLog {
  readonly divergences: Divergence[] = []
  /** Why the replay cannot go on. */
  stopped: ReplayDiverged | undefined

  constructor(
    readonly cursor: TapeCursor,
    readonly options: {
      readonly mode?: 'strict' | 'observe'
      readonly onDivergence?: (divergence: Divergence) => void
      readonly onStopped: (error: ReplayDiverged) => void
      readonly leave?: Leave
    },
  ) {}

  diverge(
    kind: DivergenceKind,
    summary: string,
    explanation: string,
    mismatches: readonly Mismatch[] = [],
  ): void {
    if (this.options.leave === 'on mismatch')
      throw new LeftTape(this.#describe(kind, summary, explanation, mismatches))
    const divergence = this.#add(kind, summary, explanation, mismatches)
    if (this.options.mode !== 'observe') this.#halt(divergence)
  }

  /** A divergence that even observe mode cannot pass. */
  stop(kind: DivergenceKind, summary: string, explanation: string): never {
    if (this.options.leave === 'on mismatch')
      throw new LeftTape(this.#describe(kind, summary, explanation))
    this.#halt(this.#add(kind, summary, explanation, []))
  }

  /** The program used something that no tape can answer. */
  refuse(error: RetakeError): never {
    const { code, what, why, fix } = error
    const summary = what.replace(/\.$/, '')
    if (this.options.leave === 'on mismatch')
      throw new LeftTape(this.#describe('unexpected', summary, why))
    const divergence = { ...this.#describe('unexpected', summary, why), fix }
    this.#keep(divergence)
    if (this.options.mode === 'observe') throw error
    this.#halt(divergence, new ReplayDiverged(divergence, { code, what, fix }))
  }

  /** The recording was cut off here: that is no difference, but there is nothing more to serve. */
  stopAtCut(what: string, answering?: number): never {
    const summary = 'the recording was cut off here'
    const found = this.#describe('cut-off', summary, `The program went on with ${what}.`)
    if (this.options.leave !== undefined) throw new LeftTape(found, answering)
    this.#halt(found)
  }

  #add(...found: Parameters<DivergenceLog['diverge']>): Divergence {
    return this.#keep(this.#describe(...found))
  }

  #keep(divergence: Divergence): Divergence {
    this.divergences.push(divergence)
    this.options.onDivergence?.(divergence)
    return divergence
  }

  #halt(divergence: Divergence, error = new ReplayDiverged(divergence)): never {
    this.stopped = error
    this.options.onStopped(error)
    throw error
  }

  #describe(
    kind: DivergenceKind,
    summary: string,
    explanation: string,
    mismatches: readonly Mismatch[] = [],
  ): Divergence {
    const { seq, tape } = this.cursor
    const site = callSite()
    return {
      seq,
      kind,
      summary,
      explanation,
      mismatches,
      ...(seq < tape.count && { recorded: tape.event(seq) }),
      ...(site !== undefined && { site }),
    }
  }
}
