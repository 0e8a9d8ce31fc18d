import type { Context } from 'hono'
import { explained } from './answer-error.js'

/** A piece of an answer has about this many characters, and takes no longer than this to make. */
const PIECE_LENGTH = 64 << 10
const PIECE_MS = 8

interface LinesOptions {
  /** For downloads: an error breaks the answer off, so that nobody takes a part for the whole. */
  readonly breaksOff?: boolean
}

/**
 * Each value as a line of JSON, made as fast as they are read and no longer than
 * somebody reads. Other requests are answered between two pieces. An error on the
 * way is told in a last line, `{"$error":…}`.
 */
export function answerLines(
  c: Context,
  values: Iterable<unknown>,
  { breaksOff = false }: LinesOptions = {},
): Response {
  const iterator = values[Symbol.iterator]()
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await new Promise((resolve) => setImmediate(resolve))
      let piece = ''
      let isDone = false
      try {
        const until = performance.now() + PIECE_MS
        while (!isDone && piece.length < PIECE_LENGTH && performance.now() < until) {
          const next = iterator.next()
          isDone = next.done === true
          if (!isDone) piece += `${JSON.stringify(next.value)}\n`
        }
      } catch (error) {
        if (breaksOff) return controller.error(error)
        piece += `${JSON.stringify({ $error: explained(error) })}\n`
        isDone = true
      }
      if (piece !== '') controller.enqueue(encoder.encode(piece))
      if (isDone) controller.close()
    },
    cancel() {
      iterator.return?.()
    },
  })
  if (!breaksOff) c.header('content-type', 'application/x-ndjson; charset=utf-8')
  return c.body(body)
}
