import type { FreeAnswer } from '@retake/engine'
import { inferredResult } from './inferred-tools.js'
import {
  answerPayload,
  editedAnswer,
  getPath,
  isRecord,
  type Payload,
  plainAnswer,
  setPath,
  type Step,
  type Tape,
  TapeError,
  wholeResponse,
  attempt,
} from '@retake/tape'

const NEUTRAL_TEXT = 'Nothing is known about this.'

/**
 * A neutral value of the same shape: objects keep their keys, lists and texts become empty, and
 * everything else becomes null, because 0 or false would be a statement.
 */
const neutralValue = (value: unknown): unknown =>
  typeof value === 'string' ? NEUTRAL_TEXT : blank(value)

function blank(value: unknown): unknown {
  if (typeof value === 'string') return ''
  if (Array.isArray(value)) return []
  if (!isRecord(value)) return null
  // A value that JSON cannot express, such as a date, is written with this key.
  if ('$' in value) return null
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, blank(each)]))
}

/** An empty answer of the same kind: a text, list or object, else null. */
function emptyValue(value: unknown): unknown {
  if (typeof value === 'string') return ''
  if (Array.isArray(value)) return []
  return isRecord(value) && !('$' in value) ? {} : null
}

/** An answer does not suit a step; the message says why. */
export class UnsuitableAnswer extends Error {}

export const neutralAnswer = (tape: Tape, step: Step): FreeAnswer =>
  quietAnswer(tape, step, { text: NEUTRAL_TEXT, value: neutralValue })

export const emptyAnswer = (tape: Tape, step: Step): FreeAnswer =>
  quietAnswer(tape, step, { text: '', value: emptyValue })

/** Makes the tool throw, the request fail, or the process not start. */
export const failedAnswer = (step: Step): FreeAnswer => ({
  error: step.kind === 'tool' ? `${step.toolName ?? 'The tool'} failed.` : 'The request failed.',
})

interface Quiet {
  readonly text: string
  readonly value: (recorded: unknown) => unknown
}

function quietAnswer(tape: Tape, step: Step, quiet: Quiet): FreeAnswer {
  if (step.kind === 'process') return { payload: { stdout: '', stderr: '', exitCode: 0 } }
  const { kind, data } = recordedPayload(tape, step)
  if (step.mcp() !== undefined)
    return checkedAnswer(tape, step, { kind, data: quietMessage(data, quiet) })
  const exchange = step.exchange()
  if (step.kind === 'model' && exchange !== undefined) {
    const answer = plainAnswer(exchange, data, quiet.text)
    if (answer === undefined)
      throw new UnsuitableAnswer(`its API, ${exchange.api}, has no neutral answer`)
    return checkedAnswer(tape, step, { kind: 'json', data: answer })
  }
  if (kind === 'text') return { payload: { text: quiet.text } }
  if (kind === 'base64') throw new UnsuitableAnswer('its answer is not text')
  // The tool threw, so its return value is unknown.
  if (kind === 'error') return checkedAnswer(tape, step, { kind: 'result', data: null })
  return checkedAnswer(tape, step, { kind, data: quiet.value(data) })
}

/** Replaces only the content of an MCP result, not its envelope. */
function quietMessage(data: unknown, { text, value }: Quiet): unknown {
  const { error: _, ...message } = data as Record<string, unknown>
  const result = isRecord(message['result']) ? message['result'] : { content: [] }
  if (!('content' in result)) return { ...message, result: value(result) }
  const { isError: __, structuredContent, ...rest } = result
  return {
    ...message,
    result: {
      ...rest,
      content: text === '' ? [] : [{ type: 'text', text }],
      ...(structuredContent !== undefined && { structuredContent: value(structuredContent) }),
    },
  }
}

/** A complete answer given by the user. For a model, plain text is its output. */
export function givenAnswer(tape: Tape, step: Step, bytes: Uint8Array): FreeAnswer {
  if (step.kind === 'process') {
    const data = parse(bytes)
    if (typeof data === 'string') return { payload: { stdout: data, stderr: '', exitCode: 0 } }
    if (isRecord(data) && ['stdout', 'stderr', 'exitCode'].some((key) => key in data))
      return { payload: data }
    throw new UnsuitableAnswer('a process answers with { stdout, stderr, exitCode }, or a text')
  }
  const exchange = step.exchange()
  const said = step.kind === 'model' ? parse(bytes) : undefined
  if (exchange !== undefined && typeof said === 'string') {
    const answer = plainAnswer(exchange, recordedPayload(tape, step).data, said)
    if (answer !== undefined) return checkedAnswer(tape, step, { kind: 'json', data: answer })
  }
  const payload = fitting(() => wholeResponse(step, bytes))
  return checkedAnswer(tape, step, payload)
}

/** `givenAnswer` for parsed data. */
export const answerOfData = (tape: Tape, step: Step, data: unknown): FreeAnswer =>
  givenAnswer(tape, step, Buffer.from(JSON.stringify(data) ?? 'null'))

/** Changes one value in the recorded answer, or in one that was already changed. */
export function changedAnswer(
  tape: Tape,
  step: Step,
  { path, value }: { readonly path: string; readonly value: unknown },
  before?: FreeAnswer,
): FreeAnswer {
  const { kind, data } = recordedPayload(tape, step)
  const from = before !== undefined && 'payload' in before ? before.payload : data
  return checkedAnswer(tape, step, {
    kind: kind === 'error' ? 'result' : kind,
    data: fitting(() => {
      getPath(from, path)
      return setPath(from, path, value)
    }),
  })
}

/** The recorded answer of a step, in a form that can be given to a fork. */
export function answerOf(tape: Tape, step: Step): FreeAnswer {
  if (step.failure !== undefined) return { error: step.failure.message }
  if (step.kind === 'process') return processAnswerOf(step)
  const status = step.exchange()?.response?.status ?? 200
  if (status >= 400) throw new UnsuitableAnswer(`it was answered with status ${status}`)
  return { payload: recordedPayload(tape, step).data }
}

/** Throws `UnsuitableAnswer` if the process was killed or did not start. */
function processAnswerOf(step: Step): FreeAnswer {
  const call = step.call()
  const result = isRecord(call?.result) ? call.result : {}
  const exitCode = result['status'] ?? result['exitCode'] ?? (call?.result as unknown[])?.[0]
  if (call === undefined || step.failure !== undefined || typeof exitCode !== 'number')
    throw new UnsuitableAnswer('the process did not exit by itself')
  const printed = (pipe: number, key: string): string => {
    const bytes = call.output.filter((each) => each.pipe === pipe).map((each) => each.bytes)
    const given = result[key]
    if (bytes.length === 0 && typeof given === 'string') return given
    const isGiven = bytes.length === 0 && given instanceof Uint8Array
    return Buffer.concat(isGiven ? [given] : bytes).toString()
  }
  return { payload: { stdout: printed(1, 'stdout'), stderr: printed(2, 'stderr'), exitCode } }
}

/** `answerOf`, or undefined if the answer cannot be given to a fork. */
export const recordedAnswer = (tape: Tape, step: Step): FreeAnswer | undefined =>
  attempt(() => answerOf(tape, step))

const recordedPayload = (tape: Tape, step: Step): Payload =>
  step.inferred
    ? { kind: 'result', data: inferredResult(step) }
    : fitting(() => answerPayload(tape, step))

/** Rejects answers that are invalid for the provider of the step. */
export function checkedAnswer(tape: Tape, step: Step, payload: Payload): FreeAnswer {
  if (step.inferred) return { payload: payload.data }
  const isFailed = (step.exchange()?.response?.status ?? 200) >= 400
  fitting(() => editedAnswer(tape, step, payload, isFailed ? { status: 200 } : {}))
  return { payload: payload.data }
}

/** Converts edit errors to `UnsuitableAnswer`. */
function fitting<T>(make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (error instanceof TapeError) throw new UnsuitableAnswer(`${error.what} ${error.why}`)
    throw error
  }
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString()) as unknown
  } catch {
    throw new UnsuitableAnswer('it is not JSON')
  }
}
