import { missingClosing, type Step } from '@retake/tape'
import type { Tape } from '@retake/tape/format'
import type { Doubt, OpenRequest, RecordedServer, StepReader } from '../kernel/settle-doubts.js'
import { describeEvent } from '../kernel/event-text.js'
import { endOfAnswer } from '../kernel/stand-in-answer.js'
import type { AnswerPart } from '../kernel/source.js'
import { findDoubts, isRepeatable, viewOf } from './find-doubts.js'
import { mcpChildAt, refusedLine } from './mcp-child.js'

/** Reads the steps of a tape on first use, because most runs go live with nothing in doubt. */
export class RunSteps implements StepReader {
  #doubts: ReadonlyMap<number, Doubt> | undefined
  #view: ReturnType<typeof viewOf> | undefined
  readonly isRepeatable = isRepeatable

  constructor(readonly tape: Tape) {}

  get inDoubt(): ReadonlyMap<number, Doubt> {
    return (this.#doubts ??= new Map(findDoubts(this.tape).map((doubt) => [doubt.op, doubt])))
  }

  doubtAbout(op: number): Doubt | undefined {
    const step = this.#stepOf(op)
    if (step === undefined || ['done', 'failed', 'denied'].includes(step.state)) return undefined
    return { seq: step.seq, partial: step.answerSeqs.length > 0 }
  }

  missingEnd(op: number): readonly AnswerPart[] | undefined {
    const step = this.#stepOf(op)
    const event = step && this.tape.event(step.seq)
    if (step?.state !== 'done' || event?.type !== 'request' || event.seam === 'http')
      return undefined
    // The event after the last content of a stream may be missing, too.
    const { api, response } = step.exchange() ?? {}
    const isStream = response?.events !== undefined && response.text !== undefined
    const closing = api && isStream ? [missingClosing(api, response.text) ?? []].flat() : []
    const chunk = { type: 'deliver', part: 'chunk' } as const
    return [
      ...closing.map((text) => ({ event: chunk, body: Buffer.from(text) })),
      ...endOfAnswer(event.seam),
    ]
  }

  nameOf(seq: number): string {
    const event = this.tape.event(seq)
    const step = event.type === 'write' ? this.#steps.find((each) => each.seq === seq) : undefined
    return step?.title ?? describeEvent(event)
  }

  serverOf(op: number, at: number): RecordedServer | undefined {
    return mcpChildAt(this.tape, op, at)
  }

  refusalOf(request: OpenRequest, message: string): Uint8Array {
    return refusedLine(request, message)
  }

  get #steps(): readonly Step[] {
    return (this.#view ??= viewOf(this.tape)).recordedSteps
  }

  /** The step of an operation; for a connection, its last step. */
  #stepOf(op: number): Step | undefined {
    return this.#steps.findLast(({ seq }) => {
      const event = this.tape.event(seq)
      return seq === op || (event.type === 'request' && event.socket === op)
    })
  }
}
