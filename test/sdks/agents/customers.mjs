// Personal data from a file goes to a model and comes back in a stream, by the SDK that the argument names.
import { readFileSync } from 'node:fs'

const base = process.env.AGENT_BASE_URL
const customer = JSON.parse(readFileSync('customer.json', 'utf8'))
const content = `Greet ${customer.name} <${customer.email}>, phone ${customer.phone}.\nPaid by ${customer.card} from ${customer.iban}`

const streams = {
  async *openai() {
    const { default: OpenAI } = await import('openai')
    const client = new OpenAI({ apiKey: 'none', baseURL: `${base}/v1` })
    const messages = [{ role: 'user', content }]
    const request = { model: 'gpt-4o-mini', messages, stream: true }
    for await (const chunk of await client.chat.completions.create(request))
      yield chunk.choices[0]?.delta.content ?? ''
  },
  async *anthropic() {
    const { default: Anthropic } = await import('@anthropic-ai/sdk')
    const client = new Anthropic({ apiKey: 'none', baseURL: base })
    const messages = [{ role: 'user', content }]
    const request = { model: 'claude-sonnet-5', max_tokens: 200, messages }
    for await (const event of client.messages.stream(request)) yield event.delta?.text ?? ''
  },
  async *ai() {
    const { createOpenAI } = await import('@ai-sdk/openai')
    const { streamText } = await import('ai')
    const openai = createOpenAI({ apiKey: 'none', baseURL: `${base}/v1` })
    yield* streamText({ model: openai.chat('gpt-4o-mini'), prompt: content }).textStream
  },
}

let answer = ''
for await (const piece of streams[process.argv[2]]()) {
  process.stdout.write(piece)
  answer += piece
}
console.log(`\n${answer.length}`)
console.log(Buffer.from(answer).toString('base64'), encodeURIComponent(customer.email))
console.log('repeats the address:', answer.includes(customer.email), Date.now(), Math.random())
