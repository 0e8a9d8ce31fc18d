// An MCP server of the first SDK generation over stdio, with one tool.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { z } from 'zod'
import { findOrder, orderTool } from './orders.mjs'

const { name, description } = orderTool
const server = new McpServer({ name: 'orders', version: '1.0.0' })
server.registerTool(name, { description, inputSchema: { id: z.string() } }, (args) => ({
  content: [{ type: 'text', text: findOrder(args) }],
}))
await server.connect(new StdioServerTransport())
