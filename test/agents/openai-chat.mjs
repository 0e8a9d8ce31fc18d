// An agent on the OpenAI chat completions API: a tool loop, streams, a fan-out.
import { randomUUID } from 'node:crypto'
import OpenAI from 'openai'

const client = new OpenAI({ apiKey: 'none', baseURL: `${process.env.AGENT_BASE_URL}/v1` })
const model = 'gpt-example'
let line = 0
const log = (...words) => console.log(line++, Date.now(), ...words)

const tools = ['weather', 'population'].map((name) => ({
  type: 'function',
  function: {
    name,
    description: `Looks up the ${name} of a city`,
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer' } },
      required: ['city'],
    },
  },
}))

const toolbox = {
  weather: ({ city }) => `${city}: ${Math.round(Math.random() * 30)} °C`,
  population: ({ city }) => `${city}: ${Math.floor(Math.random() * 1e6)} people`,
}

/** Asks until the model answers without a tool call. */
async function runToolLoop(question) {
  const messages = [
    { role: 'system', content: `Session ${randomUUID()}. Be brief.` },
    { role: 'user', content: question },
  ]
  for (let round = 1; round <= 5; round++) {
    const completion = await client.chat.completions.create({ model, messages, tools })
    const { message } = completion.choices[0]
    messages.push(message)
    log('round', round, completion.id, JSON.stringify(completion.usage))
    if (!message.tool_calls) return message.content
    for (const call of message.tool_calls) {
      const result = toolbox[call.function.name](JSON.parse(call.function.arguments))
      log('tool', call.id, call.function.name, result)
      messages.push({ role: 'tool', tool_call_id: call.id, content: result })
    }
  }
  return 'gave up'
}

async function streamAnswer(question) {
  const stream = await client.chat.completions.create({
    model,
    messages: [{ role: 'user', content: question }],
    stream: true,
    stream_options: { include_usage: true },
  })
  let answer = ''
  for await (const chunk of stream) {
    const text = chunk.choices[0]?.delta.content ?? ''
    answer += text
    log('chunk', question, JSON.stringify(text), chunk.usage?.total_tokens ?? '')
  }
  return answer
}

/** Streams a turn that calls tools, and puts the pieces of arguments together. */
async function streamTools() {
  const runner = client.chat.completions.stream({
    model,
    messages: [{ role: 'user', content: 'How is the weather?' }],
    tools,
  })
  runner.on('tool_calls.function.arguments.done', (call) =>
    log('arguments', call.name, call.arguments),
  )
  const completion = await runner.finalChatCompletion()
  return completion.choices[0].message.tool_calls?.map((call) => call.id)
}

log('answer', await runToolLoop('How is the weather in Oslo?'))
log('streamed', await streamAnswer('Tell me'))
log('tool ids', await streamTools())

const topics = ['prices', 'refunds', 'shipping', 'returns', 'taxes', 'fees']
const answers = await Promise.all(
  topics.map(async (topic) => {
    const answer = await client.chat.completions.create({
      model,
      messages: [{ role: 'user', content: `${topic} ${Math.random()}` }],
    })
    log('fan-out', topic, answer.choices[0].message.content)
    return answer.id
  }),
)
log('joined', answers.join(' '))
log('streams', await Promise.all([streamAnswer('left'), streamAnswer('right')]))
