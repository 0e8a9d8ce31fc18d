// Guarded tools of AI SDK 7: prints what started, and what the model was told.
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, isStepCount, jsonSchema, tool } from 'ai'
import { guard } from 'retake'
import { guardTools } from 'retake/ai-sdk'
import { startModelServer } from 'retake/testing'
import { z } from 'zod'

const server = await startModelServer({
  answers: [
    {
      toolCalls: [
        { name: 'look', args: { of: 'a' } },
        { name: 'wipe', args: { of: 'b' } },
        { name: 'count', args: { to: 'c' } },
      ],
    },
    { text: 'Done.' },
  ],
})
const run = guard({
  name: 'gate',
  dir: process.argv[2],
  policy: { name: 'house', rules: [{ deny: 'wipe' }] },
})
const started = []
const make = (name, inputSchema) =>
  tool({
    inputSchema,
    execute: (input) => {
      started.push(name)
      return `${name} ${JSON.stringify(input)}`
    },
  })
const tools = guardTools(run, {
  look: make('look', z.object({ of: z.string() })),
  wipe: make('wipe', z.object({ of: z.string() })),
  count: make('count', jsonSchema({ type: 'object', properties: { to: { type: 'number' } } })),
})
const { text } = await generateText({
  model: createOpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none' }).chat('gpt-4o'),
  prompt: 'Look, wipe and count.',
  tools,
  stopWhen: isStepCount(3),
})
const told = server.requests[1].messages.filter(({ role }) => role === 'tool')
console.log(JSON.stringify({ text, started, told: told.map((message) => message.text) }))
await server.stop()
run.end()
