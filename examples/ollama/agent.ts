import { Ollama } from 'ollama'
import type { Message, Tool } from 'ollama'

/** Counts words with a tool, because small models cannot. */
const ollama = new Ollama({ host: process.env['OLLAMA_HOST'] ?? 'http://127.0.0.1:11434' })
const sentence = 'the quick brown fox jumps over the lazy dog'
const messages: Message[] = [{ role: 'user', content: `How many words are in: "${sentence}"?` }]
const tools: Tool[] = [
  {
    type: 'function',
    function: {
      name: 'count_words',
      description: 'Counts the words of a text.',
      parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    },
  },
]

for (;;) {
  const stream = await ollama.chat({ model: 'llama3.2', messages, tools, stream: true })
  const answer: Message = { role: 'assistant', content: '', tool_calls: [] }
  for await (const { message } of stream) {
    process.stdout.write(message.content)
    answer.content += message.content
    answer.tool_calls!.push(...(message.tool_calls ?? []))
  }
  messages.push(answer)
  if (answer.tool_calls!.length === 0) break
  for (const call of answer.tool_calls!) {
    const count = String(call.function.arguments['text']).split(/\s+/).length
    console.log(`${call.function.name} → ${count}`)
    messages.push({ role: 'tool', tool_name: call.function.name, content: String(count) })
  }
}
console.log()
