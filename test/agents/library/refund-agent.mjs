// A small agent whose source the negative controls edit, one place at a time.
import { setTimeout as sleep } from 'node:timers/promises'
import { tool } from '@retake/engine'

const lookUpOrder = tool('look_up_order', ({ id }) => ({ id, total: Math.random() }))

async function ask(base, content) {
  const response = await fetch(`${base}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'openai-beta': 'assistants=v2',
      'user-agent': 'refunds/1.0',
    },
    body: JSON.stringify({ model: 'gpt-example', messages: [{ role: 'user', content }] }),
  })
  const { choices } = await response.json()
  return choices[0].message.content
}

export async function agent(base) {
  const ticket = Math.random()
  const plan = await ask(base, 'Plan the refund.')
  const order = await lookUpOrder({ id: 1182 })
  const policy = await ask(base, 'Quote the policy.')
  const history = await ask(base, 'Sum up the history.')
  await sleep(5)
  console.log('ticket', ticket, 'order', order.total)
  const draft = await ask(base, `Write it: ${plan} ${policy} ${history}`)
  await ask(base, 'Close the ticket.')
  return { draft }
}
