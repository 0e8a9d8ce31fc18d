// An MCP server of the second SDK generation over stdio, with one tool.
import { McpServer } from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'
import { findOrder, orderTool } from './orders.mjs'

const { name, description } = orderTool
const server = new McpServer({ name: 'orders', version: '2.0.0' })
server.registerTool(name, { description, inputSchema: z.object({ id: z.string() }) }, (args) => ({
  content: [{ type: 'text', text: findOrder(args) }],
}))
await server.connect(new StdioServerTransport())
