// The same MCP server over streamable HTTP, with sessions. Prints its address.
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { z } from 'zod'
import { findOrder, orderTool } from './orders.mjs'

const { name, description } = orderTool
const sessions = new Map()

async function openSession() {
  const server = new McpServer({ name: 'orders', version: '1.0.0' })
  server.registerTool(name, { description, inputSchema: { id: z.string() } }, (args) => ({
    content: [{ type: 'text', text: findOrder(args) }],
  }))
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => sessions.set(id, transport),
  })
  await server.connect(transport)
  return transport
}

async function answer(request, response) {
  const transport = sessions.get(request.headers['mcp-session-id']) ?? (await openSession())
  await transport.handleRequest(request, response)
}

const http = createServer((request, response) => {
  // A client that goes away in the middle of a question is no reason to end.
  answer(request, response).catch(() => response.destroy())
})
http.listen(0, '127.0.0.1', () =>
  console.log(JSON.stringify({ url: `http://127.0.0.1:${http.address().port}/mcp` })),
)
process.stdin.resume().on('end', () => process.exit(0))
