// The same clerk as a graph of LangGraph.
import { readFileSync } from 'node:fs'
import { tool } from '@langchain/core/tools'
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { ToolNode } from '@langchain/langgraph/prebuilt'
import { ChatOpenAI } from '@langchain/openai'
import { z } from 'zod'

const system = 'You are a clerk of a shop.'
const question = 'Refund order 1182.'
const rules = readFileSync('rules.md', 'utf8')
const orderTool = 'Finds an order by its number.'

const shop = async (path, body) => {
  const init = body && { method: 'POST', body: JSON.stringify(body) }
  const response = await fetch(`${process.env.SHOP_URL}${path}`, init)
  return response.text()
}

const model = new ChatOpenAI({
  model: 'gpt-4o-mini',
  maxRetries: 0,
  configuration: { baseURL: process.env.OPENAI_BASE_URL },
})
const schema = z.object({ id: z.string() })
const tools = [
  tool(({ id }) => shop(`/orders/${id}`), { name: 'find_order', description: orderTool, schema }),
  tool(({ id }) => shop('/refunds', { id }), {
    name: 'refund',
    description: 'Refunds an order.',
    schema,
  }),
]
const clerk = model.bindTools(tools)
const graph = new StateGraph(MessagesAnnotation)
  .addNode('clerk', async ({ messages }) => ({ messages: [await clerk.invoke(messages)] }))
  .addNode('tools', new ToolNode(tools))
  .addEdge(START, 'clerk')
  .addConditionalEdges('clerk', ({ messages }) =>
    messages.at(-1).tool_calls?.length > 0 ? 'tools' : END,
  )
  .addEdge('tools', 'clerk')
  .compile()

const { messages } = await graph.invoke({
  messages: [
    { role: 'system', content: `${system} ${rules}` },
    { role: 'user', content: question },
  ],
})
const { messages: all } = await graph.invoke({
  messages: [...messages, { role: 'user', content: 'Write a letter to the customer.' }],
})
const letter = all.at(-1).content
const review = await model.invoke([
  { role: 'system', content: 'You review letters.' },
  { role: 'user', content: letter },
])
console.log(letter, review.content)
