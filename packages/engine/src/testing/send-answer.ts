import type { WireAnswer } from '@retake/tape'
import type { ServerResponse } from 'node:http'
import { constants } from 'node:http2'
import type { Http2ServerResponse } from 'node:http2'
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { ScriptedAnswer } from './scripted-answer.js'

/** Writes an answer piece by piece, so that a stream arrives as one. */
export async function sendAnswer(
  response: ServerResponse,
  { status, headers, pieces }: WireAnswer,
  { delayMs = 0, breakAfter }: Pick<ScriptedAnswer, 'delayMs' | 'breakAfter'> = {},
): Promise<void> {
  // Unreferenced: a stopped server does not keep the process alive.
  if (delayMs > 0) await setTimeout(delayMs, undefined, { ref: false })
  if (response.destroyed) return
  const isStream = pieces.length > 1
  const [only = ''] = pieces
  response.sendDate = false
  response.writeHead(status, {
    ...headers,
    ...(!isStream && { 'content-length': Buffer.byteLength(only) }),
  })
  for (const [index, piece] of pieces.entries()) {
    if (index === breakAfter) return breakOff(response)
    if (response.destroyed) return
    response.write(piece)
    if (isStream) await setImmediate()
  }
  response.end()
}

/** The client must notice: a stream of HTTP/2 that is only closed looks as if it had ended. */
function breakOff(response: ServerResponse | Http2ServerResponse): void {
  if ('stream' in response) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR)
  else response.destroy()
}
