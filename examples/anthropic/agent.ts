import Anthropic from '@anthropic-ai/sdk'

/** Decides about a refund: reads the policy with a tool, thinks, answers. */
const policies: Record<string, string> = {
  books: 'Books can be returned within 30 days, unread.',
}

const client = new Anthropic()
const messages: Anthropic.MessageParam[] = [
  { role: 'user', content: 'I bought a book 12 days ago and have not read it. A refund?' },
]
const tools: Anthropic.Tool[] = [
  {
    name: 'read_policy',
    description: 'The rules for returns of a kind of goods.',
    input_schema: { type: 'object', properties: { kind: { type: 'string' } }, required: ['kind'] },
  },
]

for (;;) {
  const stream = client.messages.stream({
    model: 'claude-opus-4-6',
    max_tokens: 1024,
    system: 'You decide about refunds.',
    messages,
    tools,
  })
  stream.on('text', (text) => process.stdout.write(text))
  const message = await stream.finalMessage()
  messages.push({ role: 'assistant', content: message.content })
  const results = message.content.flatMap((block): Anthropic.ToolResultBlockParam[] => {
    if (block.type !== 'tool_use') return []
    const { kind } = block.input as { kind: string }
    console.log(`\n${block.name}(${kind}) → ${policies[kind]}`)
    return [{ type: 'tool_result', tool_use_id: block.id, content: policies[kind] ?? 'none' }]
  })
  if (results.length === 0) break
  messages.push({ role: 'user', content: results })
}
console.log(`\ncase ${crypto.randomUUID()} closed`)
