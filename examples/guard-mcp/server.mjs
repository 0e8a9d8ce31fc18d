// An MCP server with a tool that reads and one that writes, over stdio.
import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

const say = (text) => ({ content: [{ type: 'text', text }] })

serveStdio(() => {
  const server = new McpServer({ name: 'docs', version: '1.0.0' })
  server.registerTool(
    'search_docs',
    {
      description: 'Searches the help pages of the shop.',
      inputSchema: z.object({ query: z.string() }),
    },
    ({ query }) => say(`${query}: within 30 days (index of ${new Date().toISOString()})`),
  )
  server.registerTool(
    'publish_page',
    { description: 'Puts a page on the web.', inputSchema: z.object({ text: z.string() }) },
    () => say('Published.'),
  )
  return server
})
