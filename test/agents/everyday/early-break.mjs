// Leaves a stream early and continues with another request.
import OpenAI from 'openai'
import { ask } from './model.mjs'

const client = new OpenAI({ apiKey: 'none', baseURL: `${process.env.AGENT_BASE_URL}/v1` })
const stream = await client.chat.completions.create({
  model: 'gpt-example',
  messages: [{ role: 'user', content: 'hello' }],
  stream: true,
})
for await (const chunk of stream) {
  console.log(JSON.stringify(chunk.choices[0]?.delta))
  break
}
console.log(await ask('after the break'))
