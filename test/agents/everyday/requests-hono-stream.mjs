// The handler returns a streamed response; the run is open until it has been read.
import 'retake'
import { createOpenAI } from '@ai-sdk/openai'
import { serve } from '@hono/node-server'
import { streamText } from 'ai'
import { Hono } from 'hono'
import { handled, main } from './requests.mjs'

const openai = createOpenAI({ baseURL: `${process.env.AGENT_BASE_URL}/v1`, apiKey: 'none' })
const agent = (question) =>
  streamText({ model: openai.chat('gpt-example'), prompt: question }).toTextStreamResponse()

await main(
  agent,
  () =>
    new Promise((resolve) => {
      const app = new Hono().get('/', (c) => handled(agent, c.req.query('q')))
      const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) =>
        resolve({ url: `http://127.0.0.1:${port}`, close: () => server.close() }),
      )
    }),
)
