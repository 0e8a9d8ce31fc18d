import type { ServerResponse } from 'node:http'
import { errors, type RetakeError } from '../errors.js'
import type { RecordedError } from '@retake/tape/format'

const GONE = 'ABORT_ERR'

/** The recorded error for a client that did not wait for the rest of its answer. */
export const clientGone = (message: string): RecordedError => ({
  class: 'Error',
  name: 'AbortError',
  message,
  code: GONE,
})

export const isClientGone = ({ code, name }: RecordedError): boolean =>
  code === GONE && name === 'AbortError'

/** Error for a client whose provider gave no answer; the same in record and replay. */
export function upstreamFailure(error: RecordedError): RetakeError {
  const [inner] = error.errors ?? []
  const { message, code } = error.message === '' && inner ? inner : error
  const said =
    code === undefined || message.includes(String(code)) ? message : `${message} (${code})`
  return errors.UPSTREAM_FAILED(said, /CERT|SELF_SIGNED|ISSUER/.test(String(code)))
}

/** Name of the note about a request that was not forwarded. */
export const REFUSED = 'proxy request refused'

/** Name of the note about a tunnel that was forwarded unread. */
export const tunnelNote = (target: string, isTls: boolean): string =>
  `${isTls ? 'HTTPS' : 'connection'} to ${target}`

/**
 * Error of the proxy itself, in the form that provider SDKs show: they print `error.message`. Ends
 * with a newline, for terminals.
 */
export function proxyError(
  { code, what, why, fix }: RetakeError,
  more: Readonly<Record<string, unknown>> = {},
): string {
  const error = { type: 'retake', code, message: `${what} ${why} ${fix}`, what, why, fix, ...more }
  return `${JSON.stringify({ type: 'error', error }, undefined, 2)}\n`
}

/** An answer of the proxy itself, which asks SDKs not to retry, because the result would be the same. */
export function answerProxyError(
  response: ServerResponse,
  status: number,
  error: RetakeError,
  more?: Readonly<Record<string, unknown>>,
): void {
  if (response.headersSent || response.destroyed) return void response.destroy()
  const body = proxyError(error, more)
  response.sendDate = false
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'x-should-retry': 'false',
    'x-retake': error.code,
  })
  response.end(body)
}

/**
 * Breaks off an answer whose head was written: what has been written still arrives, then the
 * connection closes.
 */
export function breakOff(response: ServerResponse): void {
  response.flushHeaders()
  if (response.socket) response.socket.destroySoon()
  else response.destroy()
}
