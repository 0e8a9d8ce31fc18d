// An MCP server with one tool, over stdio.
import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

const pages = {
  refunds: 'Books can be returned within 30 days.',
  shipping: 'Orders leave the same day until noon.',
}

serveStdio(() => {
  const server = new McpServer({ name: 'docs', version: '1.0.0' })
  server.registerTool(
    'search_docs',
    {
      description: 'Searches the help pages of the shop.',
      inputSchema: z.object({ query: z.string() }),
    },
    ({ query }) => {
      const found = Object.entries(pages).filter(([topic]) => query.includes(topic))
      const text = found.map(([, page]) => page).join('\n') || 'Nothing found.'
      return { content: [{ type: 'text', text: `${text} (index of ${new Date().toISOString()})` }] }
    },
  )
  return server
})
