import { createOpenAI } from '@ai-sdk/openai'
import { generateText, stepCountIs, streamText, tool } from 'ai'
import { retakeTelemetrySettings } from 'retake/ai-sdk'
import { z } from 'zod'

/** A writer and a critic that work at the same time, and an editor who reads both. */
const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL })
const model = openai.chat('gpt-4o-mini')

const wordCount = tool({
  description: 'Counts the words of a text.',
  inputSchema: z.object({ text: z.string() }),
  execute: ({ text }) => ({ words: text.split(/\s+/).length }),
})

const [draft, advice] = await Promise.all([
  generateText({
    model,
    system: 'You write.',
    prompt: 'A sentence about rivers.',
    tools: { wordCount },
    stopWhen: stepCountIs(3),
    experimental_telemetry: retakeTelemetrySettings('writer'),
  }),
  generateText({
    model,
    system: 'You advise writers.',
    prompt: 'What makes a sentence about rivers good?',
    experimental_telemetry: retakeTelemetrySettings('critic'),
  }),
])
console.log(`writer: ${draft.text}`)
console.log(`critic: ${advice.text}`)

const final = streamText({
  model,
  system: 'You edit.',
  prompt: `Improve: ${draft.text}\nAdvice: ${advice.text}`,
  experimental_telemetry: retakeTelemetrySettings('editor'),
})
process.stdout.write('editor: ')
for await (const text of final.textStream) process.stdout.write(text)
console.log()
