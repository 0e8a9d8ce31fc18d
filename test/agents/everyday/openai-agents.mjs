import {
  Agent,
  run,
  setDefaultOpenAIClient,
  setOpenAIAPI,
  setTracingDisabled,
} from '@openai/agents'
import OpenAI from 'openai'

setTracingDisabled(true)
setOpenAIAPI('chat_completions')
setDefaultOpenAIClient(new OpenAI({ apiKey: 'none', baseURL: `${process.env.AGENT_BASE_URL}/v1` }))
const agent = new Agent({ name: 'Helper', instructions: 'Be brief.', model: 'gpt-example' })
const result = await run(agent, 'Hello?', { stream: true })
for await (const text of result.toTextStream()) process.stdout.write(text)
await result.completed
console.log()
