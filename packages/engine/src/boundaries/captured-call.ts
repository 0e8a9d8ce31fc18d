import { rebuildError, recordError } from '@retake/tape/format'
import type { CallEvent, CallKind, ErrorClasses, NewEvent } from '@retake/tape/format'
import { callSite } from '../call-site.js'
import { proofIn } from '../served-files.js'
import type { NewDelivery, Session } from '../sessions/session.js'
import { OWN_FRAMES, repeatable, withoutOwnFrames, withSite } from './repeatable-error.js'
import type { Encoded, ResultForm } from './result-form.js'

/** A call whose answer is stored: what is asked, and how the answer is kept. */
export interface CapturedCall {
  readonly kind: CallKind
  /** For example `fs.readFile`. */
  readonly name: string
  /** The paths or host names as the agent gave them. */
  readonly title: string
  /** What was passed beside them: the bytes of a write, else the options. */
  readonly input: Encoded
  readonly form: ResultForm
  /** The effect leaves the process: everything before it must be on disk first. */
  readonly durable?: boolean
  /** Classes of errors it throws, by name: a replayed error is an instance of the real class. */
  readonly errorClasses?: ErrorClasses
  /** Recomputes the answer from the disk without changing anything; undefined if that is not possible. */
  again?(): unknown
  /** Told when the answer was not made in this process just now but comes from a tape. */
  served?(outcome: Outcome): void
}

/** How a call came out. */
export type Outcome = { readonly value: unknown } | { readonly error: unknown }

/** Calls back once, with an error or a value. */
export type Answer = (error: unknown, value?: unknown) => void

/** A call that answers in the same breath. On replay `run` is not called. */
export function performCall(session: Session, call: CapturedCall, run: () => unknown): unknown {
  const { body } = call.input
  const delivery = session.performSync({
    event: { ...eventOf(session, call, callSite()), sync: true },
    ...(body && { body }),
    ...(call.durable === true && { durable: true }),
    run: () => {
      const outcome = attempt(run)
      return { ...answerEvent(call, outcome), native: outcome }
    },
  })
  const outcome = outcomeOf(session, call, delivery)
  if ('error' in outcome) throw outcome.error
  return outcome.value
}

/** A call that answers later, through the gate. On replay `start` is not called. */
export function startCall(
  session: Session,
  call: CapturedCall,
  start: (done: Answer) => void,
  answer: Answer,
): void {
  const site = callSite()
  const { body } = call.input
  const operation = session.perform({
    event: eventOf(session, call, site),
    ...(body && { body }),
    start: (live) => {
      const done = (outcome: Outcome): void => {
        const { event, body } = answerEvent(call, outcome)
        live.complete(event, body, outcome)
      }
      const fail = (error: unknown): void =>
        done({ error: repeatable(error, (stack) => withSite(stack, site)) })
      try {
        start((error, value) => (isError(error) ? fail(error) : done({ value })))
      } catch (error) {
        fail(error)
      }
    },
    deliver: (delivery) => {
      operation.close()
      const outcome = outcomeOf(session, call, delivery)
      if ('error' in outcome) answer(outcome.error)
      else answer(null, outcome.value)
    },
  })
}

/** The same as a promise. */
export function promiseCall(
  session: Session,
  call: CapturedCall,
  start: (done: Answer) => void,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    startCall(session, call, start, (error, value) =>
      isError(error) ? reject(error) : resolve(value),
    )
  })
}

const isError = (error: unknown): boolean => error !== null && error !== undefined

function eventOf(
  session: Session,
  call: CapturedCall,
  site: string | undefined,
): NewEvent<CallEvent> {
  return {
    type: 'call',
    kind: call.kind,
    name: call.name,
    title: session.secrets.text(call.title),
    ...(call.input.as && { as: call.input.as }),
    ...(site !== undefined && { site }),
  }
}

/** Our own frames take room in a stack: it gets more, and they are taken out again. */
function attempt(run: () => unknown): Outcome {
  const { stackTraceLimit } = Error
  try {
    Error.stackTraceLimit = stackTraceLimit + OWN_FRAMES
    return { value: run() }
  } catch (error) {
    return { error: repeatable(error, (stack) => withoutOwnFrames(stack, stackTraceLimit)) }
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

function answerEvent(
  call: CapturedCall,
  outcome: Outcome,
): { event: NewDelivery; body?: Uint8Array } {
  if ('error' in outcome) return { event: { type: 'result', error: recordError(outcome.error) } }
  const { as, body } = call.form.encode(outcome.value)
  return { event: { type: 'result', ...(as && { as }) }, ...(body && { body }) }
}

function outcomeOf(
  session: Session,
  call: CapturedCall,
  delivery: { event: NewDelivery; body: Uint8Array; native?: unknown },
): Outcome {
  if (delivery.native !== undefined) return delivery.native as Outcome
  const outcome = decodeOutcome(call, { ...delivery, body: revealed(session, call, delivery) })
  call.served?.(outcome)
  return outcome
}

function revealed(
  { files }: Session,
  { title, form, again }: CapturedCall,
  { event, body }: { event: NewDelivery; body: Uint8Array },
): Uint8Array {
  const proof = proofIn(event)
  if (proof === undefined || files === undefined) return body
  const content = (): Uint8Array | undefined => {
    const value = again?.()
    return value === undefined ? undefined : form.encode(value).body
  }
  return files.reveal({ title, content }, proof, body)
}

function decodeOutcome(
  call: CapturedCall,
  { event, body }: { event: NewDelivery; body: Uint8Array },
): Outcome {
  if (event.type !== 'result') return { value: undefined }
  if (event.error) return { error: rebuildError(event.error, call.errorClasses) }
  return { value: call.form.decode(event.as, body) }
}
