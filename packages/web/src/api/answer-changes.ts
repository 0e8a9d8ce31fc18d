import type { Context } from 'hono'
import type { Home, HomeChange } from './home.js'

/** A line comes at least this often, so that whoever waits notices a connection that is dead. */
const HEARTBEAT_MS = 10_000
/** Who reads so slowly that this many changes wait is cut off, and catches up when it comes again. */
const WAITING_MAX = 1000

/** What stands in a stream of changes: `alive` at its start and whenever nothing else came. */
export type ChangeLine = HomeChange | { readonly type: 'alive' }

/** The changes of a home as lines of JSON, as long as somebody reads them. */
export function answerChanges(c: Context, home: Home): Response {
  const encoder = new TextEncoder()
  let stop = (): void => {}
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const tell = (line: ChangeLine): void => {
          if ((controller.desiredSize ?? 0) < 0) {
            stop()
            controller.error(new Error('the reader of the changes is too slow'))
          } else controller.enqueue(encoder.encode(`${JSON.stringify(line)}\n`))
        }
        const heartbeat = setInterval(() => tell({ type: 'alive' }), HEARTBEAT_MS)
        const unwatch = home.watch(tell)
        stop = () => {
          clearInterval(heartbeat)
          unwatch()
        }
        tell({ type: 'alive' })
      },
      cancel: () => stop(),
    },
    new CountQueuingStrategy({ highWaterMark: WAITING_MAX }),
  )
  return c.body(body, 200, { 'content-type': 'application/x-ndjson; charset=utf-8' })
}
