import { recordError } from '@retake/tape'
import type { InitiationEvent, NewEvent } from '@retake/tape'
import type { AnswerPart } from '../answers/answer-part.js'
import { errors } from '../errors.js'
import { describe } from '../sessions/divergence.js'
import { EMPTY } from '../sessions/session.js'
import type { NewDelivery } from '../sessions/session.js'

type Initiation = NewEvent<InitiationEvent>

/** How long a request that the recorded run gave up by itself stays without an answer: as long as Node's fetch would wait. */
export const SILENCE_MS = 300_000

/** What the agent gets in place of an answer that it shall not ask for again: an error it can handle. */
export function skippedAnswer(event: Initiation): readonly AnswerPart[] {
  const error = errors.stepSkipped(describe(event))
  if (event.type === 'request') return refusal(event.seam, error.what)
  if (event.type === 'socket') return [{ event: chunk, body: http1Refusal(error.what) }]
  if (event.type === 'call' && event.kind === 'process') return endOfProcess
  if (event.type === 'call' && event.kind === 'worker') return endOfWorker
  return [{ event: { type: 'result', error: recordError(error) }, body: EMPTY }]
}

/** What the agent gets when an answer broke off, as from a lost connection. */
export function lostAnswer(event: Initiation): readonly AnswerPart[] {
  if (event.type === 'call' && event.kind === 'process') return endOfProcess
  if (event.type === 'call' && event.kind === 'worker') return endOfWorker
  if (event.type === 'call')
    return [{ event: { type: 'result', error: recordError(errors.answerLost()) }, body: EMPTY }]
  const error = recordError(connectionLost(event))
  return [{ event: { type: 'deliver', part: 'error', error }, body: EMPTY }]
}

function connectionLost(event: Initiation): Error {
  const reset = Object.assign(new Error('read ECONNRESET'), {
    code: 'ECONNRESET',
    errno: -104,
    syscall: 'read',
  })
  const error =
    event.type === 'request' && event.seam === 'fetch'
      ? new TypeError('terminated', { cause: reset })
      : reset
  // Our own frames mean nothing to the agent.
  for (const each of [reset, error]) each.stack = `${each.name}: ${each.message}`
  return error
}

/** A conflict, because clients do not take it for a passing failure; theirs say so by header. */
const STATUS = 409
const HEADERS = [
  ['content-type', 'application/json'],
  ['x-should-retry', 'false'],
] as const

const chunk: NewDelivery = { type: 'deliver', part: 'chunk' }

const refusalBody = (message: string): Buffer =>
  Buffer.from(JSON.stringify({ error: { type: 'step_skipped', code: 'STEP_SKIPPED', message } }))

function refusal(seam: 'fetch' | 'http' | 'http2', message: string): readonly AnswerPart[] {
  const parts: AnswerPart[] = [
    {
      event: { type: 'response', status: STATUS, statusText: 'Conflict', headers: HEADERS },
      body: EMPTY,
    },
    { event: chunk, body: refusalBody(message) },
    { event: { type: 'deliver', part: 'end' }, body: EMPTY },
  ]
  if (seam !== 'http2') return parts
  return [...parts, { event: { type: 'deliver', part: 'close', value: 0 }, body: EMPTY }]
}

function http1Refusal(message: string): Uint8Array {
  const body = refusalBody(message)
  const head = [
    `HTTP/1.1 ${STATUS} Conflict`,
    ...HEADERS.map(([name, value]) => `${name}: ${value}`),
    `content-length: ${body.length}`,
  ]
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body])
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
