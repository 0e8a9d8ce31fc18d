import type { ServerResponse } from 'node:http'
import type { RetakeError } from '../errors.js'

/** Name of the note about something that was not passed on. */
export const REFUSED = 'proxy request refused'

/** Name of the note about a tunnel that was passed on unread. */
export const tunnelNote = (target: string, isTls: boolean): string =>
  `${isTls ? 'HTTPS' : 'connection'} to ${target}`

/** The target of a tunnel, from the name of its note. */
export const notedTunnel = (name: string): string | undefined =>
  /^(?:HTTPS|connection) to (.*)$/.exec(name)?.[1]

/**
 * What the proxy itself has to say, in the form that provider SDKs show: they
 * print `error.message`. Ends with a newline, for terminals.
 */
export function proxyError(
  { code, what, why, fix }: RetakeError,
  more: Readonly<Record<string, unknown>> = {},
): string {
  const error = { type: 'retake', code, message: `${what} ${why} ${fix}`, what, why, fix, ...more }
  return `${JSON.stringify({ type: 'error', error }, undefined, 2)}\n`
}

/** Answers in the proxy's own name. SDKs are asked not to try again: it would end the same. */
export function answerError(
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
