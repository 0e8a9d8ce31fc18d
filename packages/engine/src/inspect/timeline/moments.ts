import { firstIndex, isDelivery, isInitiation, type Tape } from '@retake/tape/format'
import type { Step } from '@retake/tape'

/** The fields of a step that a timeline uses; implemented by `Step` of the read model. */
export type TimelineStep = Pick<
  Step,
  'number' | 'label' | 'seq' | 'answerSeqs' | 'kind' | 'title' | 'state' | 'lane'
>

/** A step of a run as a point in time: when its answer reached the agent. Plain JSON. */
export interface Moment {
  /**
   * Position in time, from 0. Concurrent steps may be answered in a different order from that in
   * which they start.
   */
  readonly index: number
  readonly label: string
  readonly kind: TimelineStep['kind']
  readonly title: string
  readonly state: TimelineStep['state']
  readonly lane: number
  /**
   * The event before which the agent is halted: the last part of the answer, or the start if there
   * is none.
   */
  readonly seq: number
}

/** The steps of a run in the order in which their answers came. */
export class Moments {
  readonly #steps: readonly { readonly step: TimelineStep; readonly seq: number }[]
  readonly #indexes: ReadonlyMap<string, number>

  constructor(tape: Tape, steps: readonly TimelineStep[]) {
    this.#steps = steps
      .map((step) => ({ step, seq: haltingEvent(tape, step) }))
      .toSorted((a, b) => a.seq - b.seq || a.step.number - b.step.number)
    this.#indexes = new Map(this.#steps.map(({ step }, index) => [step.label, index]))
  }

  get count(): number {
    return this.#steps.length
  }

  /** Titles are read from the tape on demand. */
  at(index: number): Moment {
    const { step, seq } = this.#entry(index)
    const { label, kind, title, state, lane } = step
    return { index, label, kind, title, state, lane, seq }
  }

  seqAt(index: number): number {
    return this.#entry(index).seq
  }

  labelAt(index: number): string {
    return this.#entry(index).step.label
  }

  laneAt(index: number): number {
    return this.#entry(index).step.lane
  }

  indexOf(label: string): number | undefined {
    return this.#indexes.get(label)
  }

  /** The first moment that a process which has consumed all events before `seq` can still reach. */
  firstFrom(seq: number): number {
    return firstIndex(this.#steps, (each) => each.seq >= seq)
  }

  #entry(index: number): { readonly step: TimelineStep; readonly seq: number } {
    const entry = this.#steps[index]
    if (entry === undefined) throw new RangeError(`there is no moment ${index}`)
    return entry
  }
}

/**
 * A mark is neither started nor answered, and no process can be halted at a write to a child; then
 * the agent is halted at the next event. A request that a server makes on a pipe is answered by the
 * agent, so it is inspected when it arrives.
 */
function haltingEvent(tape: Tape, { kind, seq, answerSeqs }: TimelineStep): number {
  const last = answerSeqs.at(-1) ?? seq
  const isWritten = tape.event(last).type === 'write'
  if (kind !== 'mark' && !isWritten) return last
  if (isWritten && isDelivery(tape.event(seq))) return seq
  for (const event of tape.events(seq + 1))
    if (isDelivery(event) || isInitiation(event)) return event.seq
  return seq
}
