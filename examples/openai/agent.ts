import OpenAI from 'openai'

/** A support agent: looks an order up, then answers. */
const orders: Record<string, { status: string; carrier: string }> = {
  '1182': { status: 'on its way', carrier: 'Nordpost' },
}

const client = new OpenAI()
const messages: OpenAI.ChatCompletionMessageParam[] = [
  { role: 'system', content: 'You help customers of a bookshop. Be brief.' },
  { role: 'user', content: 'Where is my order 1182?' },
]
const tools: OpenAI.ChatCompletionTool[] = [
  {
    type: 'function',
    function: {
      name: 'lookup_order',
      description: 'The state of an order.',
      parameters: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
    },
  },
]

for (;;) {
  const stream = client.chat.completions.stream({
    model: 'gpt-4o-mini',
    messages,
    tools,
    // Without it, a streamed answer says nothing about tokens.
    stream_options: { include_usage: true },
  })
  stream.on('content', (text) => process.stdout.write(text))
  const message = (await stream.finalChatCompletion()).choices[0].message
  messages.push(message)
  if (!message.tool_calls?.length) break
  for (const call of message.tool_calls) {
    const { id } = JSON.parse(call.function.arguments) as { id: string }
    const found = { ...orders[id], askedAt: new Date().toISOString() }
    console.log(`${call.function.name}(${id}) →`, found)
    messages.push({ role: 'tool', tool_call_id: call.id, content: JSON.stringify(found) })
  }
}
console.log()
