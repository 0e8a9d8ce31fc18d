// An agent on the Anthropic messages API: a tool loop, two streams, a fan-out.
import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic({ apiKey: 'none', baseURL: process.env.AGENT_BASE_URL })
const defaults = { model: 'claude-example', max_tokens: 200 }
let line = 0
const log = (...words) => console.log(line++, Date.now(), ...words)

const tools = [
  {
    name: 'look_up_policy',
    description: 'Finds the policy that applies in a city',
    input_schema: { type: 'object', properties: { city: { type: 'string' } } },
  },
]

const messages = [{ role: 'user', content: `May I return it? Case ${crypto.randomUUID()}` }]
for (let round = 1; round <= 5; round++) {
  const message = await client.messages.create({ ...defaults, messages, tools })
  log('round', round, message.id, message.stop_reason, JSON.stringify(message.usage))
  messages.push({ role: 'assistant', content: message.content })
  if (message.stop_reason !== 'tool_use') break
  const results = message.content
    .filter((block) => block.type === 'tool_use')
    .map((block) => {
      const content = `policy ${Math.floor(Math.random() * 100)} for ${block.input.city}`
      log('tool', block.id, content)
      return { type: 'tool_result', tool_use_id: block.id, content }
    })
  messages.push({ role: 'user', content: results })
}

async function streamText(question) {
  const stream = client.messages.stream({
    ...defaults,
    messages: [{ role: 'user', content: question }],
  })
  stream.on('text', (text) => log('text', question, JSON.stringify(text)))
  const message = await stream.finalMessage()
  return message.id
}

log('one stream', await streamText('alone'))
log('two streams', await Promise.all([streamText('left'), streamText('right')]))

const raw = await client.messages.create({
  ...defaults,
  messages: [{ role: 'user', content: 'raw' }],
  tools,
  stream: true,
})
for await (const event of raw) log('event', event.type, JSON.stringify(event.delta ?? ''))

await Promise.all(
  Array.from({ length: 5 }, async (_, index) => {
    const message = await client.messages.create({
      ...defaults,
      messages: [{ role: 'user', content: `topic ${index} ${Math.random()}` }],
    })
    log('fan-out', index, message.content[0].text)
  }),
)
