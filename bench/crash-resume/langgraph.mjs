/** LangGraph with a SQLite checkpointer: continues with `invoke(null)` if the thread is not at its end. */
import { tool } from '@langchain/core/tools'
import { createReactAgent } from '@langchain/langgraph/prebuilt'
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite'
import { ChatOpenAI } from '@langchain/openai'
import { z } from 'zod'
import { refund } from './refund.mjs'

const { SERVICES, STATE } = process.env
const agent = createReactAgent({
  llm: new ChatOpenAI({
    model: 'gpt-example',
    apiKey: 'none',
    configuration: { baseURL: `${SERVICES}/v1` },
  }),
  tools: [
    tool(async (args) => JSON.stringify(await refund(args)), {
      name: 'refund',
      description: 'Refunds an order',
      schema: z.object({ order: z.number() }),
    }),
  ],
  checkpointer: SqliteSaver.fromConnString(`${STATE}.sqlite`),
})
const config = { configurable: { thread_id: '1' }, recursionLimit: 50, durability: 'sync' }
const { next } = await agent.getState(config)
const task = { messages: [{ role: 'user', content: 'Refund orders 1 to 5.' }] }
await agent.invoke(next.length > 0 ? null : task, config)
