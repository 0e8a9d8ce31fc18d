import type { Server, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

import { createAdaptorServer, type HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'

type Fetch = (request: Request, env: HttpBindings) => Response | Promise<Response>

/** Content types of streams that stay open as long as a page. */
const LASTING = /^(?:text\/event-stream|application\/x-ndjson)\b/

/**
 * An HTTP server for a Hono app. Pipes long-lived streams itself, because the adapter chains a promise
 * to each chunk and keeps all of them in memory until the stream ends.
 */
export const createNodeServer = (fetch: Fetch, hostname: string): Server =>
  createAdaptorServer({
    fetch: async (request, env) => {
      const response = await fetch(request, env as HttpBindings)
      const isLasting = LASTING.test(response.headers.get('content-type') ?? '')
      if (!isLasting || response.body === null) return response
      const outgoing = env.outgoing as ServerResponse
      for (const [name, value] of response.headers) outgoing.appendHeader(name, value)
      outgoing.writeHead(response.status).flushHeaders()
      // Either side may end early: if the client leaves, the stream is canceled; if the stream
      // fails, the connection is closed.
      const body = Readable.fromWeb(response.body)
      void pipeline(body, outgoing).catch(() => {})
      return RESPONSE_ALREADY_SENT
    },
    hostname,
  }) as Server
