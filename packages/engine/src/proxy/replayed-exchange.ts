import type { ServerResponse } from 'node:http'
import type { RecordedError, Tape } from '@retake/tape/format'
import type { AnswerOrder } from './answer-order.js'
import { breakOff } from './break-off.js'
import { isClientGone, upstreamFailure } from './exchange-failure.js'
import { answerError } from './proxy-error.js'
import type { TapedExchange } from './taped-exchanges.js'
import { errors } from '../errors.js'

/** A client that went away then, and stays now, is let go after the recorded time and this. */
const PATIENCE_MS = 30_000

/** If a piece has not been sent after this time, the client is not reading. */
const BLOCKED_MS = 50

/**
 * Gives a recorded answer: status, headers, and each recorded piece in a write of
 * its own. It ends as it did: whole, broken off, or open until the client goes.
 */
export async function replayExchange(
  tape: Tape,
  exchange: TapedExchange,
  response: ServerResponse,
  { paced, order }: { readonly paced: boolean; readonly order: AnswerOrder },
): Promise<void> {
  const { request, parts } = exchange
  const started = performance.now()
  order.begin(exchange)
  response.on('close', () => order.done(exchange))
  for (const [index, part] of parts.entries()) {
    if (paced) await pause(part.at - request.at - (performance.now() - started), response)
    if (part.type === 'deliver' && part.error && isClientGone(part.error)) order.pass(exchange)
    else await order.turn(exchange, index)
    if (response.destroyed) return
    if (part.type === 'response') {
      response.sendDate = false
      response.writeHead(part.status, part.statusText, part.headers.flat())
      response.flushHeaders()
    } else if (part.type === 'deliver' && part.part === 'chunk') {
      await write(response, tape.body(part.seq), () => order.pass(exchange))
    } else if (part.type === 'deliver' && part.part === 'end') {
      return void response.end()
    } else if (part.type === 'deliver' && part.error) {
      return fail(response, part.error, part.at - request.at)
    }
  }
  if (response.headersSent) breakOff(response)
  else answerError(response, 502, errors.PROXY_ANSWER_CUT_OFF(`${request.method} ${request.url}`))
}

async function fail(response: ServerResponse, error: RecordedError, ms: number): Promise<void> {
  if (isClientGone(error)) {
    await pause(ms + PATIENCE_MS, response)
    response.destroy()
  } else if (response.headersSent) breakOff(response)
  else answerError(response, 502, upstreamFailure(error))
}

/** Resolves when the piece has left, so that the next one is a piece of its own. */
function write(response: ServerResponse, bytes: Uint8Array, onBlocked: () => void): Promise<void> {
  return new Promise((resolve) => {
    const blocked = setTimeout(onBlocked, BLOCKED_MS)
    const left = (): void => {
      clearTimeout(blocked)
      response.off('close', left)
      setImmediate(resolve)
    }
    response.once('close', left)
    response.write(bytes, left)
  })
}

/** Cut short when the client goes away. */
function pause(ms: number, response: ServerResponse): Promise<void> {
  if (ms <= 0 || response.destroyed) return Promise.resolve()
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      response.off('close', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    response.on('close', done)
  })
}
