// Signs its request with a secret of the environment.
import { createHmac } from 'node:crypto'

const body = JSON.stringify({ amount: 12, at: Date.now() })
const signature = createHmac('sha256', process.env.WEBHOOK_SECRET).update(body).digest('hex')
const response = await fetch(`${process.env.AGENT_BASE_URL}/echo`, {
  method: 'POST',
  headers: { 'x-check': signature },
  body,
})
console.log(await response.text())
