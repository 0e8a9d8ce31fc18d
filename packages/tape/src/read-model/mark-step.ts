import type { NoteEvent } from '../format/events.js'
import { StepBase, type StepContext } from './step-base.js'
import type { StepKind, StepState } from './step.js'

/** A point the user marked. */
export class MarkStep extends StepBase {
  readonly kind: StepKind = 'mark'
  readonly state: StepState = 'done'
  readonly error = undefined
  readonly latencyMs = undefined
  readonly title: string

  constructor(context: StepContext, number: number, note: NoteEvent) {
    super(context, number, note)
    this.title = note.text === undefined ? note.name : `${note.name}: ${note.text}`
  }
}
