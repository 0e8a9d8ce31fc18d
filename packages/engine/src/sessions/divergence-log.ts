import { callSite } from '../call-site.js'
import { ReplayDiverged } from '../errors.js'
import type { Mismatch } from '../signature.js'
import type { Divergence, DivergenceKind } from './divergence.js'
import type { TapeCursor } from './tape-cursor.js'

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
    },
  ) {}

  diverge(
    kind: DivergenceKind,
    summary: string,
    explanation: string,
    mismatches: readonly Mismatch[] = [],
  ): void {
    const divergence = this.#add(kind, summary, explanation, mismatches)
    if (this.options.mode !== 'observe') this.#halt(divergence)
  }

  /** A divergence that even observe mode cannot pass. */
  stop(kind: DivergenceKind, summary: string, explanation: string): never {
    this.#halt(this.#add(kind, summary, explanation, []))
  }

  /** The recording was cut off here: that is no difference, but there is nothing more to serve. */
  stopAtCut(what: string): never {
    const summary = 'the recording was cut off here'
    this.#halt(this.#describe('cut-off', summary, `The program went on with ${what}.`, []))
  }

  #add(...found: Parameters<DivergenceLog['diverge']>): Divergence {
    const divergence = this.#describe(...found)
    this.divergences.push(divergence)
    this.options.onDivergence?.(divergence)
    return divergence
  }

  #halt(divergence: Divergence): never {
    const error = new ReplayDiverged(divergence)
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
