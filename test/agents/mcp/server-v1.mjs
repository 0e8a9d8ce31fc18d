// The docs server on @modelcontextprotocol/sdk. With `http`, prints its address and listens; else stdio.
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { isInitializeRequest } from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'
import { registerTools } from './docs-tools.mjs'

function makeServer() {
  const name = process.env.DOCS_NAME ?? 'docs'
  const server = new McpServer({ name, version: '1.0.0' })
  registerTools(server, z, (shape) => shape, {
    notify: (extra, notification) => extra.sendNotification(notification),
    sample: (extra, params) =>
      server.server.createMessage(params, { relatedRequestId: extra.requestId }),
  })
  return server
}

if (process.argv[2] !== 'http') await makeServer().connect(new StdioServerTransport())
else {
  const sessions = new Map()
  const answer = async (request, response) => {
    const pieces = []
    for await (const piece of request) pieces.push(piece)
    const body = pieces.length > 0 ? JSON.parse(Buffer.concat(pieces).toString()) : undefined
    let transport = sessions.get(request.headers['mcp-session-id'])
    if (transport === undefined && body !== undefined && isInitializeRequest(body)) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        enableJsonResponse: process.env.DOCS_JSON === '1',
        onsessioninitialized: (id) => void sessions.set(id, transport),
      })
      await makeServer().connect(transport)
    }
    if (transport === undefined) return void response.writeHead(400).end('no session')
    await transport.handleRequest(request, response, body)
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
