import { Annotation, END, START, StateGraph } from '@langchain/langgraph'
import { ChatOpenAI } from '@langchain/openai'

const model = new ChatOpenAI({
  model: 'gpt-4o-mini',
  configuration: { baseURL: process.env.OPENAI_BASE_URL },
})
const say = async (prompt) => (await model.invoke(prompt)).text

const State = Annotation.Root({ topic: Annotation(), joke: Annotation(), better: Annotation() })

/** A topic, a joke about it, a better joke. */
export const jokes = (checkpointer) =>
  new StateGraph(State)
    .addNode('choose', async () => ({ topic: await say('Choose a topic for a joke.') }))
    .addNode('write', async ({ topic }) => ({ joke: await say(`A joke about ${topic}.`) }))
    .addNode('improve', async ({ joke }) => ({ better: await say(`Make it funnier: ${joke}`) }))
    .addEdge(START, 'choose')
    .addEdge('choose', 'write')
    .addEdge('write', 'improve')
    .addEdge('improve', END)
    .compile({ checkpointer })

export const thread = { configurable: { thread_id: 'jokes' } }
