import { ChatOpenAI } from '@langchain/openai'
import { createAgent, tool } from 'langchain'
import { guard } from 'retake'
import { guardTools, nameSteps } from 'retake/langchain'
import { z } from 'zod'

nameSteps()

/** An agent that may look things up, and may delete nothing, whatever it is told. */
const run = guard({
  name: 'librarian',
  policy: { name: 'library', default: 'deny', rules: [{ allow: 'find_*' }] },
})

const findBook = tool(({ title }) => `${title}: shelf 12 (as of ${new Date().toISOString()})`, {
  name: 'find_book',
  description: 'Where a book stands.',
  schema: z.object({ title: z.string() }),
})
const deleteBook = tool(({ title }) => `${title} is gone.`, {
  name: 'delete_book',
  description: 'Removes a book from the catalogue.',
  schema: z.object({ title: z.string() }),
})

const agent = createAgent({
  name: 'librarian',
  model: new ChatOpenAI({
    model: 'gpt-4o-mini',
    configuration: { baseURL: process.env.OPENAI_BASE_URL },
  }),
  tools: guardTools(run, [findBook, deleteBook]),
})
const { messages } = await agent.invoke({
  messages: [{ role: 'user', content: 'Find Momo, then delete it.' }],
})
for (const message of messages) console.log(`${message.type}: ${message.text}`)
