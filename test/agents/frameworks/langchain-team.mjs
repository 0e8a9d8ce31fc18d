// Agents, graphs, subgraphs, a fan-out and tools of LangChain, one after the other and at once.
import {
  Annotation,
  END,
  entrypoint,
  MessagesAnnotation,
  Send,
  START,
  StateGraph,
  task,
} from '@langchain/langgraph'
import { ToolNode } from '@langchain/langgraph/prebuilt'
import { ChatOpenAI } from '@langchain/openai'
import { createAgent, tool } from 'langchain'
import { z } from 'zod'

// Replaced by the test where tools are named.
const nameTools = globalThis.nameTools ?? ((tools) => tools)

const configuration = { baseURL: `${process.env.AGENT_BASE_URL}/v1` }
const model = new ChatOpenAI({ model: 'gpt-4.1-mini', apiKey: 'none', configuration })
const user = (content) => ({ messages: [{ role: 'user', content }] })
const schema = z.object({ city: z.string() })

const lookUp = tool(async ({ city }) => (await model.invoke(`look up ${city}`)).content, {
  name: 'look_up',
  description: 'looks up',
  schema,
})
const researcher = createAgent({ model, tools: nameTools([lookUp]), name: 'researcher' })
const weather = tool(
  async ({ city }) => {
    const { messages } = await researcher.invoke(user(`research ${city}`))
    await model.invoke('after the research')
    return messages.at(-1).content
  },
  { name: 'weather', description: 'the weather', schema },
)
const planner = createAgent({ model, tools: nameTools([weather]), name: 'planner' })

const drafts = new StateGraph(MessagesAnnotation)
  .addNode('draft', async () => ({ messages: [await model.invoke('draft')] }))
  .addEdge(START, 'draft')
  .addEdge('draft', END)
  .compile()

const State = Annotation.Root({
  items: Annotation(),
  done: Annotation({ reducer: (left, right) => [...left, ...right], default: () => [] }),
  messages: MessagesAnnotation.spec.messages,
})
const report = new StateGraph(State)
  .addNode('plan', async () => {
    let text = ''
    for await (const piece of await model.stream('stream the plan')) text += piece.text
    return { items: ['north', 'south', 'east'], done: [text] }
  })
  .addNode('write', async ({ item }) => {
    await new Promise((resolve) => setTimeout(resolve, 2))
    return { done: [(await model.invoke(`write ${item}`)).content] }
  })
  .addNode('subgraph', drafts)
  .addNode('called', async () => {
    await drafts.invoke({ messages: [] })
    return {}
  })
  .addEdge(START, 'plan')
  .addConditionalEdges('plan', ({ items }) => items.map((item) => new Send('write', { item })))
  .addEdge('write', 'subgraph')
  .addEdge('subgraph', 'called')
  .addEdge('called', END)
  .compile()

const classic = new StateGraph(MessagesAnnotation)
  .addNode('ask', async () => ({
    messages: [
      {
        role: 'assistant',
        content: '',
        tool_calls: ['Bern', 'Rome'].map((city) => ({
          id: `call_${city}`,
          name: 'look_up',
          args: { city: `${city} for the graph` },
        })),
      },
    ],
  }))
  .addNode('tools', new ToolNode(nameTools([lookUp])))
  .addEdge(START, 'ask')
  .addEdge('ask', 'tools')
  .addEdge('tools', END)
  .compile()

console.log((await planner.invoke(user('plan a trip'))).messages.at(-1).content)
for await (const [{ text }] of await planner.stream(user('stream a trip'), {
  streamMode: 'messages',
}))
  process.stdout.write(text)
console.log()
for await (const update of await report.stream({ items: [] }, { streamMode: 'updates' }))
  console.log(Object.keys(update))
console.log((await classic.invoke({ messages: [] })).messages.map(({ content }) => content))
const delegating = new StateGraph(MessagesAnnotation)
  .addNode('delegate', researcher.graph)
  .addEdge(START, 'delegate')
  .addEdge('delegate', END)
  .compile()
console.log((await delegating.invoke(user('delegate'))).messages.at(-1).content)
const page = task('page', async (name) => (await model.invoke(`page ${name}`)).content)
const book = entrypoint('book', async (names) => Promise.all(names.map((name) => page(name))))
console.log(await book.invoke(['one', 'two']))
const [a, b] = await Promise.all([
  planner.invoke(user('plan another trip')),
  report.invoke({ items: [] }),
])
console.log(a.messages.at(-1).content, b.done)
await model.invoke('outside of all')
