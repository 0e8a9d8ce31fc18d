// A graph with a tool loop, a question asked twice, a fan-out, a subgraph and an approval by a person.
import {
  Annotation,
  END,
  interrupt,
  MessagesAnnotation,
  Send,
  START,
  StateGraph,
} from '@langchain/langgraph'
import { ToolNode } from '@langchain/langgraph/prebuilt'
import { ChatOpenAI } from '@langchain/openai'
import { tool } from 'langchain'
import { z } from 'zod'

const configuration = { baseURL: `${process.env.AGENT_BASE_URL}/v1` }
const model = new ChatOpenAI({
  model: 'gpt-4.1-mini',
  apiKey: 'none',
  maxRetries: 0,
  configuration,
})
const say = async (text) => (await model.invoke(text)).content

const findOrder = tool(async ({ id }) => `order ${id} left the house`, {
  name: 'find_order',
  description: 'finds an order',
  schema: z.object({ id: z.string() }),
})

const letters = new StateGraph(Annotation.Root({ letter: Annotation() }))
  .addNode('compose', async () => ({ letter: await say('Compose the letter') }))
  .addNode('polish', async ({ letter }) => ({ letter: await say(`Polish: ${letter}`) }))
  .addEdge(START, 'compose')
  .addEdge('compose', 'polish')
  .addEdge('polish', END)
  .compile()

const State = Annotation.Root({
  messages: MessagesAnnotation.spec.messages,
  drafts: Annotation({ reducer: (left, right) => [...left, ...right], default: () => [] }),
  checks: Annotation({ reducer: (left, right) => [...left, ...right], default: () => [] }),
  approved: Annotation(),
  letter: Annotation(),
})

const withTools = model.bindTools([findOrder])
const draft = async () => ({ drafts: [await say('Draft an answer')] })

/** The graph over a checkpointer. */
export const refundGraph = (checkpointer) =>
  new StateGraph(State)
    .addNode('agent', async ({ messages }) => ({ messages: [await withTools.invoke(messages)] }))
    .addNode('tools', new ToolNode([findOrder]))
    .addNode('draft', draft)
    .addNode('redraft', draft)
    .addNode('check', async ({ rule }) => ({ checks: [await say(`Check ${rule}`)] }))
    .addNode('approve', async () => ({ approved: interrupt('Is this right?') }))
    .addNode('letters', letters)
    .addEdge(START, 'agent')
    .addConditionalEdges('agent', ({ messages }) =>
      messages.at(-1).tool_calls?.length > 0 ? 'tools' : 'draft',
    )
    .addEdge('tools', 'agent')
    .addEdge('draft', 'redraft')
    .addConditionalEdges('redraft', () =>
      ['age', 'price', 'reason'].map((rule) => new Send('check', { rule })),
    )
    .addEdge('check', 'approve')
    .addEdge('approve', 'letters')
    .addEdge('letters', END)
    .compile({ checkpointer })

export const config = { configurable: { thread_id: 'refund-42' } }

/** A checkpoint in plain values. */
export const plain = ({ values, next, metadata, tasks, config: at }) => ({
  id: at.configurable.checkpoint_id,
  next,
  step: metadata.step,
  source: metadata.source,
  tasks: tasks.map(({ name, interrupts }) => [name, ...interrupts.map(({ value }) => value)]),
  values: JSON.parse(
    JSON.stringify({ ...values, messages: values.messages?.map((message) => message.toDict()) }),
  ),
})

export async function history(graph, from = config) {
  const states = []
  for await (const state of graph.getStateHistory(from)) states.push(plain(state))
  return states
}
