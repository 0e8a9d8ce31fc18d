import type { RecordedError, SocketEvent } from '../format/events.js'
import type { StepOp } from './run-index.js'
import { describeError, StepBase, type StepContext } from './step-base.js'
import type { StepKind, StepState } from './step.js'

/** A connection that failed before any request went over it. */
export class ConnectionStep extends StepBase {
  readonly kind: StepKind = 'http'
  readonly state: StepState = 'failed'
  readonly title: string
  readonly error: string | undefined
  readonly latencyMs: number | undefined
  readonly #failure: RecordedError | undefined

  constructor(context: StepContext, number: number, op: StepOp & { readonly event: SocketEvent }) {
    super(context, number, op.event)
    const { kind, host, port, path } = op.event
    this.#failure = op.failure
    this.error = op.failure === undefined ? undefined : describeError(op.failure)
    this.latencyMs = op.last === undefined ? undefined : op.last.at - this.at
    this.title = `connect ${kind} ${path ?? `${host}:${port}`} (${op.failure?.code ?? 'failed'})`
  }

  override get failure(): RecordedError | undefined {
    return this.#failure
  }
}
