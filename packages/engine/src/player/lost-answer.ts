import { type InitiationEvent, type NewEvent, recordError } from '@retake/tape/format'
import { errors } from '../errors.js'
import { EMPTY, type NewDelivery } from '../sessions/session.js'
import { describe } from './divergence.js'
import type { AnswerPart } from './source.js'

type Initiation = NewEvent<InitiationEvent>

/** How long a request that the recorded run gave up by itself stays without an answer: as long as Node's fetch would wait. */
export const SILENCE_MS = 300_000

/** An error that the agent can handle, for a request that must not be sent again. */
export function skippedAnswer(event: Initiation): readonly AnswerPart[] {
  const error = errors.STEP_SKIPPED(describe(event))
  if (event.type === 'request') return refusal(event.seam, error.what)
  if (event.type === 'socket') return [{ event: chunk, body: http1Refusal(error.what) }]
  if (event.type === 'call' && event.kind === 'process') return endOfProcess
  if (event.type === 'call' && event.kind === 'worker') return endOfWorker
  return [{ event: { type: 'result', error: recordError(error) }, body: EMPTY }]
}

/** The parts of an answer that broke off, as after a lost connection. */
export function lostAnswer(event: Initiation): readonly AnswerPart[] {
  if (event.type === 'call' && event.kind === 'process') return endOfProcess
  if (event.type === 'call' && event.kind === 'worker') return endOfWorker
  if (event.type === 'call')
    return [{ event: { type: 'result', error: recordError(errors.ANSWER_LOST()) }, body: EMPTY }]
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

/** 409: SDKs do not retry it. `x-should-retry: false` covers those that would. */
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
