import type { ServerResponse } from 'node:http'
import type { RecordedError, Tape } from '@retake/tape'
import { breakOff } from './break-off.js'
import { isClientGone, upstreamFailure } from './exchange-failure.js'
import { answerError } from './proxy-error.js'
import type { TapedExchange } from './taped-exchanges.js'
import { proxyErrors } from './proxy-errors.js'

/** A client that went away then, and stays now, is let go after the recorded time and this. */
const PATIENCE_MS = 30_000

/**
 * Gives a recorded answer: status, headers, and each recorded piece in a write of
 * its own. It ends as it did: whole, broken off, or open until the client goes.
 */
export async function replayExchange(
  tape: Tape,
  { request, parts }: TapedExchange,
  response: ServerResponse,
  { paced }: { readonly paced: boolean },
): Promise<void> {
  const started = performance.now()
  for (const part of parts) {
    if (paced) await pause(part.at - request.at - (performance.now() - started), response)
    if (response.destroyed) return
    if (part.type === 'response') {
      response.sendDate = false
      response.writeHead(part.status, part.statusText, part.headers.flat())
      response.flushHeaders()
    } else if (part.type === 'deliver' && part.part === 'chunk') {
      await write(response, tape.body(part.seq))
    } else if (part.type === 'deliver' && part.part === 'end') {
      return void response.end()
    } else if (part.type === 'deliver' && part.error) {
      return fail(response, part.error, part.at - request.at)
    }
  }
  if (response.headersSent) breakOff(response)
  else answerError(response, 502, proxyErrors.answerCutOff(`${request.method} ${request.url}`))
}

async function fail(response: ServerResponse, error: RecordedError, ms: number): Promise<void> {
  if (isClientGone(error)) {
    await pause(ms + PATIENCE_MS, response)
    response.destroy()
  } else if (response.headersSent) breakOff(response)
  else answerError(response, 502, upstreamFailure(error))
}

/** Resolves when the piece has left, so that the next one is a piece of its own. */
function write(response: ServerResponse, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    response.once('close', resolve)
    response.write(bytes, () => {
      response.off('close', resolve)
      setImmediate(resolve)
    })
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
