// A graph of LangGraph: a planner fans out to one writer a topic, their reports come together again.
import { Annotation, END, MemorySaver, Send, START, StateGraph } from '@langchain/langgraph'
import { ChatOpenAI } from '@langchain/openai'

const configuration = { baseURL: `${process.env.AGENT_BASE_URL}/v1` }
const model = new ChatOpenAI({ model: 'gpt-4.1-mini', apiKey: 'none', configuration })

const State = Annotation.Root({
  topics: Annotation(),
  reports: Annotation({ reducer: (left, right) => [...left, ...right], default: () => [] }),
})

const graph = new StateGraph(State)
  .addNode('planner', async () => {
    const { text } = await model.invoke('Plan the report')
    return { topics: text.split(', ') }
  })
  .addNode('writer', async ({ topic }) => {
    const { text, id } = await model.invoke(`Report on ${topic}`)
    return { reports: [`${topic}: ${text} (${id})`] }
  })
  .addEdge(START, 'planner')
  .addConditionalEdges(
    'planner',
    ({ topics }) => topics.map((topic) => new Send('writer', { topic })),
    ['writer'],
  )
  .addEdge('writer', END)
  .compile({ checkpointer: new MemorySaver() })

const config = { configurable: { thread_id: 'report' } }
for await (const update of await graph.stream({}, { ...config, streamMode: 'updates' })) {
  console.log(Date.now(), JSON.stringify(update))
}
const { values, config: at } = await graph.getState(config)
console.log(values.reports.toSorted(), at.configurable.checkpoint_id)
for await (const { next, metadata } of graph.getStateHistory(config)) {
  console.log(metadata.step, next)
}
