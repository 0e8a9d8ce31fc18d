import OpenAI from 'openai'

const client = new OpenAI({ apiKey: 'none', baseURL: `${process.env.AGENT_BASE_URL}/v1` })
const stream = await client.chat.completions.create({
  model: 'gpt-example',
  messages: [{ role: 'user', content: 'hello' }],
  stream: true,
})
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? '')
console.log()
