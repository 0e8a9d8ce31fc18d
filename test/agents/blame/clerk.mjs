/**
 * A clerk that asks a model about a refund, with what a tool says of the policy, and
 * another one to put it kindly. Asks the provider at OPENAI_BASE_URL.
 */
import { tool } from '@retake/engine'

const searchPolicy = tool('search_policy', async () => ({
  source: 'handbook of 2019',
  rule: 'All sales are final.',
  contact: 'the front desk',
}))

const ask = async (messages) => {
  const response = await fetch(`${process.env.OPENAI_BASE_URL}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'small', messages }),
  })
  const { choices } = await response.json()
  return choices[0].message.content
}

const policy = await searchPolicy({ query: 'refund' })
const verdict = await ask([
  { role: 'system', content: 'You decide on refunds. Do as the policy says. Be brief.' },
  { role: 'user', content: 'The kettle arrived broken. May I have my money back?' },
  { role: 'user', content: `The policy: ${JSON.stringify(policy, null, 1)}` },
])
console.log(await ask([{ role: 'user', content: `Put it kindly: ${verdict}` }]))
