import {
  type BodyForm,
  type CallEvent,
  type CallKind,
  decodeBody,
  encodeBody,
  type ErrorClasses,
  type NewEvent,
  rebuildError,
  recordError,
} from '@retake/tape/format'
import type { FileBefore } from '@retake/tape/format'
import { callSite, OWN_PREFIXES } from '../../kernel/call-site.js'
import type { NewDelivery, Session } from '../../kernel/session.js'

/** A value as the body of an event; empty if there is no value. */
export interface Encoded {
  readonly as?: BodyForm
  readonly body?: Uint8Array
}

export interface ResultForm {
  encode(value: unknown): Encoded
  decode(as: BodyForm | undefined, body: Uint8Array): unknown
}

/** Text, bytes, numbers, plain data or nothing. */
export const plain: ResultForm = {
  encode: (value) => (value === undefined ? {} : encodeBody(value)),
  decode: (as, body) => (as === undefined ? undefined : decodeBody(as, body)),
}

const CONTEXT = /\(node:(?:async_hooks|internal\/async_local_storage)/

/** Approximate number of frames between the agent's call and Node's function. */
const OWN_FRAMES = 18

/**
 * The error that the agent gets while recording. Adjusted so that the error rebuilt on replay looks
 * the same, as an object and when printed.
 */
function repeatable(error: unknown, changeStack: (stack: string) => string): unknown {
  if (!(error instanceof Error)) return error
  // Node's system errors compute their properties; rebuilt errors store them.
  const hasGetters = Object.entries(Object.getOwnPropertyDescriptors(error)).some(
    ([key, { get }]) => key !== 'stack' && get !== undefined,
  )
  const settled = hasGetters ? (rebuildError(recordError(error)) as Error) : error
  if (typeof settled.stack === 'string') {
    Object.defineProperty(settled, 'stack', {
      value: changeStack(settled.stack),
      writable: true,
      configurable: true,
    })
  }
  return settled
}

/** A call whose answer is stored: the request, and the form of the answer. */
export interface CapturedCall {
  readonly kind: CallKind
  /** For example `fs.readFile`. */
  readonly name: string
  /** The paths or host names as the agent gave them. */
  readonly title: string
  /** The other arguments: the bytes of a write, or the options. */
  readonly input: Encoded
  readonly form: ResultForm
  /** True if the effect leaves the process, so that everything before it must be on disk first. */
  readonly durable?: boolean
  /**
   * Classes of the errors that it throws, by name, so that a replayed error is an instance of the
   * real class.
   */
  readonly errorClasses?: ErrorClasses
  /** The file that the call writes to, immediately before it is made; see `CallEvent.file`. */
  before?(): FileBefore | undefined
  /** Recomputes the answer from the disk without changing anything; undefined if that is not possible. */
  again?(): unknown
  /** Called if the answer comes from a tape. */
  served?(outcome: CapturedOutcome): void
}

export type CapturedOutcome = { readonly value: unknown } | { readonly error: unknown }

/** Calls back once, with an error or a value. */
export type CapturedAnswer = (error: unknown, value?: unknown) => void

/** Makes a synchronous call. On replay, `run` is not called. */
export function performCall(session: Session, call: CapturedCall, run: () => unknown): unknown {
  const { body } = call.input
  const delivery = session.performSync({
    event: { ...eventOf(session, call, callSite()), sync: true },
    ...(body && { body }),
    ...(call.durable === true && { durable: true }),
    ...(call.before && { before: () => call.before?.() }),
    run: () => {
      const outcome = runCaptured(run)
      return { ...answerEvent(call, outcome), native: outcome }
    },
  })
  const outcome = outcomeOf(session, call, delivery)
  if ('error' in outcome) throw outcome.error
  return outcome.value
}

/** Makes an asynchronous call, whose answer comes through the gate. On replay, `start` is not called. */
export function startCall(
  session: Session,
  call: CapturedCall,
  start: (done: CapturedAnswer) => void,
  answer: CapturedAnswer,
): void {
  const site = callSite()
  const { body } = call.input
  const operation = session.perform({
    event: eventOf(session, call, site),
    ...(body && { body }),
    ...(call.before && { before: () => call.before?.() }),
    start: (live) => {
      const done = (outcome: CapturedOutcome): void => {
        const { event, body } = answerEvent(call, outcome)
        live.complete(event, body, outcome)
      }
      // Errors from the thread pool have no stack, so the line of the call is added.
      const fail = (error: unknown): void =>
        done({
          error: repeatable(error, (stack) =>
            site === undefined || stack.includes('\n    at ')
              ? stack
              : `${stack}\n    at async ${site}`,
          ),
        })
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

export function promiseCall(
  session: Session,
  call: CapturedCall,
  start: (done: CapturedAnswer) => void,
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

/** Frames of Retake count towards the stack limit, so it is raised and they are removed afterwards. */
function runCaptured(run: () => unknown): CapturedOutcome {
  const { stackTraceLimit } = Error
  try {
    Error.stackTraceLimit = stackTraceLimit + OWN_FRAMES
    return { value: run() }
  } catch (error) {
    return {
      error: repeatable(error, (stack) => {
        // The stack without frames of Retake and its async context, as plain Node would show it.
        let frames = 0
        const ownLines = stack.split('\n').filter((line) => {
          if (!line.startsWith('    at ')) return true
          if (CONTEXT.test(line) || OWN_PREFIXES.some((own) => line.includes(own))) return false
          frames += 1
          return frames <= stackTraceLimit
        })
        return ownLines.join('\n')
      }),
    }
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

function answerEvent(
  call: CapturedCall,
  outcome: CapturedOutcome,
): { event: NewDelivery; body?: Uint8Array } {
  if ('error' in outcome) return { event: { type: 'result', error: recordError(outcome.error) } }
  const { as, body } = call.form.encode(outcome.value)
  return { event: { type: 'result', ...(as && { as }) }, ...(body && { body }) }
}

function outcomeOf(
  session: Session,
  call: CapturedCall,
  delivery: { event: NewDelivery; body: Uint8Array; native?: unknown },
): CapturedOutcome {
  if (delivery.native !== undefined) return delivery.native as CapturedOutcome
  const { event } = delivery
  const body = revealed(session, call, delivery)
  let outcome: CapturedOutcome = { value: undefined }
  if (event.type === 'result')
    outcome = event.error
      ? { error: rebuildError(event.error, call.errorClasses) }
      : { value: call.form.decode(event.as, body) }
  call.served?.(outcome)
  return outcome
}

function revealed(
  { files }: Session,
  { title, form, again }: CapturedCall,
  { event, body }: { event: NewDelivery; body: Uint8Array },
): Uint8Array {
  const proof = event.type === 'result' ? event.proof : undefined
  if (proof === undefined || files === undefined) return body
  const content = (): Uint8Array | undefined => {
    const value = again?.()
    return value === undefined ? undefined : form.encode(value).body
  }
  return files.reveal({ title, content }, proof, body)
}
