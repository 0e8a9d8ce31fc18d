// The tools of the docs server, for both generations of the SDK.
import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'

/**
 * @param {{ registerTool: Function, registerResource: Function, registerPrompt: Function }} server
 * @param {import('zod').z} z
 * @param {(shape: object) => unknown} schema How this generation takes a schema.
 * @param {{ notify: (extra: any, notification: object) => Promise<void>,
 *   sample?: (extra: any, params: object) => Promise<any> }} client What a tool can tell its client.
 */
export function registerTools(server, z, schema, { notify, sample }) {
  const text = (words) => ({ content: [{ type: 'text', text: words }] })
  const described = process.env.DOCS_DESCRIPTION ?? 'Searches the documentation.'
  const query = process.env.DOCS_EXTRA === undefined ? {} : { [process.env.DOCS_EXTRA]: z.string() }
  server.registerTool(
    'search_docs',
    {
      description: described,
      inputSchema: schema({ query: z.string(), limit: z.number().optional(), ...query }),
    },
    async ({ query: words }) => text(`3 pages about ${words} (${randomUUID()})`),
  )
  server.registerTool(
    'slow',
    { description: 'Answers late.', inputSchema: schema({ ms: z.number(), name: z.string() }) },
    async ({ ms, name }) => {
      await wait(ms)
      return text(`${name} at ${Date.now()}`)
    },
  )
  server.registerTool('broken', { description: 'Fails.', inputSchema: schema({}) }, async () => ({
    ...text('the index is damaged'),
    isError: true,
  }))
  server.registerTool(
    'count',
    { description: 'Tells how far it is.', inputSchema: schema({ to: z.number() }) },
    async ({ to }, extra) => {
      const progressToken = (extra._meta ?? extra.mcpReq?._meta)?.progressToken
      for (let progress = 1; progress <= to; progress++) {
        if (progressToken === undefined) continue
        const params = { progressToken, progress, total: to, message: `page ${progress}` }
        await notify(extra, { method: 'notifications/progress', params })
        await wait(5)
      }
      return text(`counted to ${to}`)
    },
  )
  server.registerTool(
    'crash',
    { description: 'Ends the server.', inputSchema: schema({}) },
    async () => {
      console.error('out of memory')
      process.exit(7)
    },
  )
  server.registerTool(
    'chatter',
    { description: 'Writes what is no frame.', inputSchema: schema({}) },
    async () => {
      process.stdout.write('loading index…\n\n{"half": \n')
      return text('done')
    },
  )
  if (sample !== undefined)
    server.registerTool(
      'summarize',
      { description: 'Asks the model of its client.', inputSchema: schema({ of: z.string() }) },
      async ({ of }, extra) => {
        const answer = await sample(extra, {
          messages: [{ role: 'user', content: { type: 'text', text: `Summarize ${of}` } }],
          maxTokens: 20,
        })
        // The client gets the receipt for its answer first, also on a busy machine, and closes after the result.
        await new Promise((resolve) => setTimeout(resolve, 200))
        return text(`summary: ${answer.content.text}`)
      },
    )
  server.registerResource(
    'guide',
    'docs://guide',
    { description: 'The guide.', mimeType: 'text/plain' },
    async (uri) => ({ contents: [{ uri: uri.href, text: `guide of ${Date.now()}` }] }),
  )
  server.registerPrompt('ask', { description: 'How to ask.' }, async () => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Ask politely. ${randomUUID()}` } }],
  }))
}
