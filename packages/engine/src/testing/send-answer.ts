import type { ServerResponse } from 'node:http'
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { ScriptedAnswer } from './scripted-answer.js'
import type { WireAnswer } from './wire-format.js'

/** Writes an answer piece by piece, so that a stream arrives as one. */
export async function sendAnswer(
  response: ServerResponse,
  { status, headers, pieces }: WireAnswer,
  { delayMs = 0, breakAfter }: Pick<ScriptedAnswer, 'delayMs' | 'breakAfter'> = {},
): Promise<void> {
  if (delayMs > 0) await setTimeout(delayMs)
  if (response.destroyed) return
  const isStream = pieces.length > 1
  const [only = ''] = pieces
  response.sendDate = false
  response.writeHead(status, {
    ...headers,
    ...(!isStream && { 'content-length': Buffer.byteLength(only) }),
  })
  for (const [index, piece] of pieces.entries()) {
    if (index === breakAfter) {
      response.destroy()
      return
    }
    if (response.destroyed) return
    response.write(piece)
    if (isStream) await setImmediate()
  }
  response.end()
}
