import type { Server, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream as NodeReadableStream } from 'node:stream/web'
import { createAdaptorServer, type HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'

type Fetch = (request: Request, env: HttpBindings) => Response | Promise<Response>

/** Types of streams that stay open while a page is open. */
const LASTING = /^(?:text\/event-stream|application\/x-ndjson)\b/

/**
 * An HTTP server for a Hono app. Sends lasting streams itself: the adapter chains a promise to each
 * chunk, and all of them stay in memory until the stream ends.
 */
export const createNodeServer = (fetch: Fetch, hostname: string): Server =>
  createAdaptorServer({
    fetch: async (request, env) => {
      const response = await fetch(request, env as HttpBindings)
      const isLasting = LASTING.test(response.headers.get('content-type') ?? '')
      if (!isLasting || response.body === null) return response
      void sendStream(response, response.body, env.outgoing as ServerResponse)
      return RESPONSE_ALREADY_SENT
    },
    hostname,
  }) as Server

async function sendStream(
  { status, headers }: Response,
  body: ReadableStream<Uint8Array>,
  outgoing: ServerResponse,
): Promise<void> {
  for (const [name, value] of headers) outgoing.appendHeader(name, value)
  outgoing.writeHead(status).flushHeaders()
  // Either side may break off: the stream is canceled if the client leaves, and the connection is
  // closed if the stream fails.
  await pipeline(Readable.fromWeb(body as NodeReadableStream), outgoing).catch(() => {})
}
