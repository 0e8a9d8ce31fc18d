/** OpenAI Agents with a session in a file. A run has no other state that survives the process. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import {
  Agent,
  run,
  setDefaultOpenAIClient,
  setOpenAIAPI,
  setTracingDisabled,
  tool,
} from '@openai/agents'
import OpenAI from 'openai'
import { z } from 'zod'
import { refund } from './refund.mjs'

const { SERVICES, STATE } = process.env
setTracingDisabled(true)
setOpenAIAPI('chat_completions')
setDefaultOpenAIClient(new OpenAI({ apiKey: 'none', baseURL: `${SERVICES}/v1` }))

const file = `${STATE}.json`
const read = () => (existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : [])
const write = (items) => writeFileSync(file, JSON.stringify(items))
const session = {
  getSessionId: async () => '1',
  getItems: async () => read(),
  addItems: async (items) => write([...read(), ...items]),
  popItem: async () => {
    const items = read()
    const last = items.pop()
    write(items)
    return last
  },
  clearSession: async () => write([]),
}
const agent = new Agent({
  name: 'refunds',
  model: 'gpt-example',
  tools: [
    tool({
      name: 'refund',
      description: 'Refunds an order',
      parameters: z.object({ order: z.number() }),
      execute: refund,
    }),
  ],
})
await run(agent, 'Refund orders 1 to 5.', { session, maxTurns: 50 })
