// A clerk with two tools, as a loop around the OpenAI SDK, and a reviewer.
import { readFileSync } from 'node:fs'
import OpenAI from 'openai'

const system = 'You are a clerk of a shop.'
const question = 'Refund order 1182.'
const rules = readFileSync('rules.md', 'utf8')
const orderTool = 'Finds an order by its number.'

const shop = async (path, body) => {
  const init = body && { method: 'POST', body: JSON.stringify(body) }
  const response = await fetch(`${process.env.SHOP_URL}${path}`, init)
  return response.text()
}

const client = new OpenAI({ maxRetries: 0 })
const parameters = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] }
const tools = {
  find_order: { description: orderTool, run: ({ id }) => shop(`/orders/${id}`) },
  refund: { description: 'Refunds an order.', run: ({ id }) => shop('/refunds', { id }) },
}
const offered = Object.entries(tools).map(([name, { description }]) => ({
  type: 'function',
  function: { name, description, parameters },
}))

async function answer(messages) {
  for (;;) {
    const { choices } = await client.chat.completions.create({
      model: 'gpt-4o-mini',
      messages,
      tools: offered,
    })
    const { message } = choices[0]
    messages.push(message)
    if (!message.tool_calls?.length) return message.content
    for (const { id, function: call } of message.tool_calls) {
      const content = await tools[call.name].run(JSON.parse(call.arguments))
      messages.push({ role: 'tool', tool_call_id: id, content })
    }
  }
}

const messages = [
  { role: 'system', content: `${system} ${rules}` },
  { role: 'user', content: question },
]
await answer(messages)
messages.push({ role: 'user', content: 'Write a letter to the customer.' })
const letter = await answer(messages)
const { choices } = await client.chat.completions.create({
  model: 'gpt-4o-mini',
  messages: [
    { role: 'system', content: 'You review letters.' },
    { role: 'user', content: letter },
  ],
})
console.log(letter, choices[0].message.content)
