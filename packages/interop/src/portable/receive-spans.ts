import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import zlib from 'node:zlib'
import { once } from 'node:events'
import { readerOf, type SpanSink } from './read-spans.js'

const BODY_MAX = 64 << 20

/**
 * Listens for OTLP over HTTP on this machine only: JSON and protobuf, plain or gzip. Calls
 * `received` after each request, when its spans are in the sink.
 */
export async function receiveSpans(
  port: number,
  sink: SpanSink,
  received: (traces: ReadonlySet<string>) => void,
) {
  const server = createServer((request, response) => {
    void (async () => {
      try {
        const { status, type, traces } = await handle(request, sink)
        answer(response, status, type)
        if (traces !== undefined) received(traces)
      } catch {
        answer(response, 400, 'application/json')
      }
    })()
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const { port: bound } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${bound}`,
    stop: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function handle(
  request: IncomingMessage,
  sink: SpanSink,
): Promise<{ status: number; type: string; traces?: ReadonlySet<string> }> {
  const type = request.headers['content-type']?.split(';')[0]?.trim() ?? ''
  if (!/^\/v1\/traces\/?$/.test(request.url?.split('?')[0] ?? '')) return { status: 404, type }
  if (request.method !== 'POST') return { status: 405, type }
  // A page in a browser could send "simple" requests here; these types are not simple.
  if (type !== 'application/json' && type !== 'application/x-protobuf') return { status: 415, type }
  const body = await bodyOf(request)
  if (body === undefined) return { status: 413, type }
  const traces = new Set<string>()
  const reader = readerOf(
    'otlp',
    type === 'application/json' ? Buffer.from('{') : Buffer.of(0x0a),
    {
      span(span) {
        traces.add(span.traceId)
        sink.span(span)
      },
      problem: (why) => sink.problem(why),
    },
    'received',
  )
  reader.write(body)
  reader.end()
  return { status: 200, type, traces }
}

/** The decompressed body; undefined if it is too large. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request) {
    size += (chunk as Buffer).length
    if (size > BODY_MAX) return undefined
    chunks.push(chunk as Buffer)
  }
  const body = Buffer.concat(chunks)
  if (request.headers['content-encoding'] !== 'gzip') return body
  return zlib.gunzipSync(body, { maxOutputLength: BODY_MAX })
}

/** An empty message means success in both encodings. */
function answer(response: ServerResponse, status: number, type: string): void {
  const isJson = type !== 'application/x-protobuf'
  response.writeHead(status, { 'content-type': isJson ? 'application/json' : type })
  response.end(isJson ? '{}' : '')
}
