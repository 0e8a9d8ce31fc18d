import {
  type HeaderPair,
  type InitiationEvent,
  type NewEvent,
  recordError,
  type RequestEvent,
} from '@retake/tape/format'
import { kernelErrors } from './errors.js'
import { EMPTY, type NewDelivery } from './session.js'
import { describeEvent } from './event-text.js'
import type { AnswerPart } from './source.js'

type Initiation = NewEvent<InitiationEvent>

/** How long a request that the recorded run abandoned stays without an answer: as long as Node's fetch would wait. */
export const SILENCE_MS = 300_000

/** An error that the agent can handle, as the answer to a request that must not be repeated. */
export function skippedAnswer(event: Initiation): readonly AnswerPart[] {
  const error = kernelErrors.STEP_SKIPPED(describeEvent(event))
  if (event.type === 'request') return refusal(event.seam, error.what)
  if (event.type === 'socket') return refusal('http', error.what)
  if (event.type === 'call' && event.kind === 'process') return endOfProcess
  if (event.type === 'call' && event.kind === 'worker') return endOfWorker
  return [{ event: { type: 'result', error: recordError(error) }, body: EMPTY }]
}

/** The parts of an answer that broke off, as after a lost connection; `why` explains it. */
export function lostAnswer(event: Initiation, why?: string): readonly AnswerPart[] {
  if (event.type === 'call' && event.kind === 'process') return endOfProcess
  if (event.type === 'call' && event.kind === 'worker') return endOfWorker
  if (event.type === 'call')
    return [
      { event: { type: 'result', error: recordError(kernelErrors.ANSWER_LOST()) }, body: EMPTY },
    ]
  const error = recordError(connectionLost(event, why))
  const lost = why === undefined ? {} : { lost: why }
  return [{ event: { type: 'deliver', part: 'error', error, ...lost }, body: EMPTY }]
}

function connectionLost(event: Initiation, why: string | undefined): Error {
  const reason = why === undefined ? '' : `: this connection exists only on the tape, and ${why}`
  const reset = Object.assign(new Error(`read ECONNRESET${reason}`), {
    code: 'ECONNRESET',
    errno: -104,
    syscall: 'read',
  })
  const error =
    event.type === 'request' && event.seam === 'fetch'
      ? new TypeError('terminated', { cause: reset })
      : reset
  withoutFrames(reset)
  return withoutFrames(error)
}

/** Removes Retake's own frames, which mean nothing to the agent. */
export function withoutFrames<E extends Error>(error: E): E {
  error.stack = `${error.name}: ${error.message}`
  return error
}

/** SDKs do not retry a 409; the header covers those that would. */
const NOT_RETRIED = [['x-should-retry', 'false']] as const

const refusal = (seam: Seam, message: string): readonly AnswerPart[] => {
  const error = { type: 'step_skipped', code: 'STEP_SKIPPED', message }
  return jsonParts(seam, { error }, { status: 409, statusText: 'Conflict', headers: NOT_RETRIED })
}

type Seam = RequestEvent['seam']

/** A whole answer with a JSON body, as the parts that the client of a request expects. */
export function jsonParts(
  seam: Seam,
  value: unknown,
  { status = 200, statusText = 'OK', headers = [] as readonly HeaderPair[] } = {},
): AnswerPart[] {
  const body = Buffer.from(JSON.stringify(value) ?? 'null')
  const all: HeaderPair[] = [
    ['content-type', 'application/json'],
    ...headers,
    ['content-length', String(body.length)],
  ]
  const chunk: NewDelivery = { type: 'deliver', part: 'chunk' }
  if (seam === 'http') {
    const lines = all.map(([name, content]) => `${name}: ${content}`)
    const head = [`HTTP/1.1 ${status} ${statusText}`, ...lines, '', ''].join('\r\n')
    return [{ event: chunk, body: Buffer.concat([Buffer.from(head), body]) }]
  }
  return [
    { event: { type: 'response', status, statusText, headers: all }, body: EMPTY },
    { event: chunk, body },
    ...endOfAnswer(seam),
  ]
}

export function endOfAnswer(seam: Seam): AnswerPart[] {
  const end: AnswerPart = { event: { type: 'deliver', part: 'end' }, body: EMPTY }
  const close: AnswerPart = { event: { type: 'deliver', part: 'close', value: 0 }, body: EMPTY }
  return seam === 'http2' ? [end, close] : [end]
}

const endOfProcess: readonly AnswerPart[] = [
  { event: { type: 'deliver', part: 'exit', value: [null, 'SIGKILL'] }, body: EMPTY },
  { event: { type: 'deliver', part: 'end', pipe: 1 }, body: EMPTY },
  { event: { type: 'deliver', part: 'end', pipe: 2 }, body: EMPTY },
  { event: { type: 'deliver', part: 'close', value: [null, 'SIGKILL'] }, body: EMPTY },
]

/** As after `terminate()`. */
const endOfWorker: readonly AnswerPart[] = [
  { event: { type: 'deliver', part: 'exit', value: 1 }, body: EMPTY },
]
