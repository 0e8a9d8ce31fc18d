/**
 * A refund agent. Two sub-agents look things up at the same time, then a third
 * decides. It talks to any model that speaks OpenAI's chat format at MODEL_URL;
 * under Retake, a scripted model answers if that is not set. Wrapping a function
 * in `tool()` makes it a step of its own: it can be looked at, and forked with
 * another result.
 */
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { tool } from 'retake'

interface Message {
  role: 'system' | 'user' | 'assistant' | 'tool'
  content: string | null
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[]
  tool_call_id?: string
}
interface Shop {
  orders: { id: string; item: string; price: number; deliveredOn: string }[]
  policies: { title: string; text: string; effectiveFrom: string }[]
}
type Tool = (args: Record<string, string>) => Promise<unknown>

const shop = JSON.parse(await readFile(new URL('shop.json', import.meta.url), 'utf8')) as Shop

const tools: Record<string, Tool> = {
  lookup_order: tool('lookup_order', ({ id }) => shop.orders.find((order) => order.id === id)),
  search_policy: tool('search_policy', ({ query }) =>
    shop.policies.find(({ title }) => title.toLowerCase().includes(query.toLowerCase())),
  ),
}

const log = (...words: string[]) => console.log(new Date().toISOString().slice(11, 23), ...words)

/** Asks the model until it answers in words, running the tools it asks for. */
async function ask(name: string, instructions: string, question: string): Promise<string> {
  const messages: Message[] = [
    { role: 'system', content: instructions },
    { role: 'user', content: question },
  ]
  for (;;) {
    const response = await fetch(`${process.env['MODEL_URL']}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-5-mini', messages }),
    })
    const { choices } = (await response.json()) as { choices: { message: Message }[] }
    const { message } = choices[0]
    messages.push(message)
    if (!message.tool_calls) {
      log(`${name}:`, message.content ?? '')
      return message.content ?? ''
    }
    for (const { id, function: call } of message.tool_calls) {
      const args = JSON.parse(call.arguments) as Record<string, string>
      const result = await tools[call.name](args)
      log(`${name}: ${call.name} ${call.arguments}`)
      messages.push({ role: 'tool', tool_call_id: id, content: JSON.stringify(result) })
    }
  }
}

const request = 'Refund order 1182, please. Today is 2026-11-15.'
log(`ticket ${randomUUID().slice(0, 8)}: ${request}`)

const [order, policy] = await Promise.all([
  ask('order', 'You are the order clerk. Use lookup_order.', request),
  ask('policy', 'You are the policy clerk. Use search_policy.', 'How long can a customer return?'),
])
await ask(
  'decision',
  'You are a careful manager. Decide the refund.',
  `${request}\n${order}\n${policy}`,
)
