/** A loop around the `openai` package with a guarded tool; with `VERIFY`, the tool looks for its refund. */
import OpenAI from 'openai'
import { guard } from 'retake'
import { refund } from './refund.mjs'

const { SERVICES, STATE, VERIFY } = process.env
const run = guard({ name: 'refunds', dir: STATE, resume: true })
const verify = async ({ order }) => {
  const response = await fetch(`${SERVICES}/refunds/${order}`)
  const { count } = await response.json()
  return count > 0 ? { happened: true, output: { refund: `r-${order}-1` } } : { happened: false }
}
run.tool('refund', refund, { effects: ['spend', 'network'], ...(VERIFY && { verify }) })

const client = new OpenAI({ apiKey: 'none', baseURL: `${SERVICES}/v1` })
const messages = [{ role: 'user', content: 'Refund orders 1 to 5.' }]
for (;;) {
  const { choices } = await client.chat.completions.create({ model: 'gpt-example', messages })
  const { message } = choices[0]
  messages.push(message)
  if (!message.tool_calls) break
  for (const { id, function: call } of message.tool_calls) {
    const { output } = await run.call(call.name, JSON.parse(call.arguments), { throws: true })
    messages.push({ role: 'tool', tool_call_id: id, content: JSON.stringify(output) })
  }
}
run.end()
