// The docs server on @modelcontextprotocol/server: both eras of the protocol, stdio or `http`.
import { createServer } from 'node:http'
import { Readable } from 'node:stream'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'
import { registerTools } from './docs-tools.mjs'

function makeServer() {
  const server = new McpServer({ name: process.env.DOCS_NAME ?? 'docs', version: '2.0.0' })
  registerTools(server, z, (shape) => z.object(shape), {
    notify: (extra, notification) => extra.mcpReq.notify(notification),
  })
  return server
}

if (process.argv[2] !== 'http') serveStdio(makeServer)
else {
  const handler = createMcpHandler(makeServer)
  const answer = async (request, response) => {
    const pieces = []
    for await (const piece of request) pieces.push(piece)
    const controller = new AbortController()
    response.on('close', () => controller.abort())
    const answered = await handler.fetch(
      new Request(`http://${request.headers.host}${request.url}`, {
        method: request.method,
        headers: request.headers,
        signal: controller.signal,
        ...(pieces.length > 0 && { body: Buffer.concat(pieces) }),
      }),
    )
    response.writeHead(answered.status, Object.fromEntries(answered.headers))
    if (answered.body === null) response.end()
    else
      Readable.fromWeb(answered.body)
        .on('error', () => response.destroy())
        .pipe(response)
  }
  const http = createServer((request, response) => {
    // A client that goes away in the middle of a question is no reason to end.
    answer(request, response).catch(() => response.destroy())
  })
  http.listen(0, '127.0.0.1', () => {
    console.log(JSON.stringify({ url: `http://127.0.0.1:${http.address().port}/mcp` }))
  })
  process.stdin.resume().on('end', () => process.exit())
}
