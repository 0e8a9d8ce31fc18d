import { BedrockRuntimeClient, ConverseStreamCommand } from '@aws-sdk/client-bedrock-runtime'
import type { ContentBlock, Message, Tool } from '@aws-sdk/client-bedrock-runtime'

/** Answers about stock with one tool. Speaks HTTP/2, signs each request: as AWS's client does. */
const stock: Record<string, number> = { 'B-17': 3 }

const client = new BedrockRuntimeClient({})
const messages: Message[] = [{ role: 'user', content: [{ text: 'How many of B-17 are left?' }] }]
const tools: Tool[] = [
  {
    toolSpec: {
      name: 'count_stock',
      description: 'How many of an article are in store.',
      inputSchema: {
        json: {
          type: 'object',
          properties: { article: { type: 'string' } },
          required: ['article'],
        },
      },
    },
  },
]

for (;;) {
  const { stream = [] } = await client.send(
    new ConverseStreamCommand({
      modelId: 'amazon.nova-lite-v1:0',
      messages,
      toolConfig: { tools },
    }),
  )
  const text: string[] = []
  const calls: { id: string; name: string; json: string }[] = []
  for await (const { contentBlockStart, contentBlockDelta } of stream) {
    const opened = contentBlockStart?.start?.toolUse
    if (opened) calls.push({ id: opened.toolUseId ?? '', name: opened.name ?? '', json: '' })
    const { delta } = contentBlockDelta ?? {}
    if (delta?.text) text.push(delta.text)
    if (delta?.toolUse) calls.at(-1)!.json += delta.toolUse.input
  }
  if (calls.length === 0) {
    console.log(text.join(''))
    break
  }
  const asked = calls.map(({ id, name, json }) => ({
    id,
    name,
    input: JSON.parse(json) as { article: string },
  }))
  messages.push({
    role: 'assistant',
    content: asked.map(({ id, name, input }) => ({ toolUse: { toolUseId: id, name, input } })),
  })
  const results = asked.map(({ id, name, input: { article } }): ContentBlock => {
    console.log(`${name}(${article}) → ${stock[article]}`)
    return { toolResult: { toolUseId: id, content: [{ json: { count: stock[article] ?? 0 } }] } }
  })
  messages.push({ role: 'user', content: results })
}
client.destroy()
