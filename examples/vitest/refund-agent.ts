import { readFileSync } from 'node:fs'
import OpenAI from 'openai'
import { tool } from 'retake'

const orders: Record<string, { boughtOn: string; price: number }> = {
  '1182': { boughtOn: '2026-09-29', price: 49.9 },
}

/** Served from the tape on replay: tests need no database. */
const lookUpOrder = tool('look_up_order', async (id: string) => ({
  ...orders[id],
  today: new Date().toISOString().slice(0, 10),
}))

/** Decides about a refund: `APPROVED` or `DENIED`, with a reason. */
export async function refundAgent(orderId: string): Promise<{ decision: string; reason: string }> {
  const policy = readFileSync(new URL('policy.md', import.meta.url), 'utf8')
  const order = await lookUpOrder(orderId)
  const completion = await new OpenAI().chat.completions.create({
    model: 'gpt-4o-mini',
    messages: [
      { role: 'system', content: `${policy}\nAnswer APPROVED or DENIED, then a dash and why.` },
      { role: 'user', content: `May order ${orderId} be refunded? ${JSON.stringify(order)}` },
    ],
  })
  const answer = completion.choices[0]?.message.content ?? ''
  const [decision = '', reason = ''] = answer.split(' – ')
  return { decision, reason }
}
