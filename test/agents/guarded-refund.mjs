import { guard } from 'retake'

/** The second step is a refund that a rule asks about and Anna approves. The rest is private. */
console.log('PRIVATE start')
const run = guard({
  name: 'shop',
  policy: {
    name: 'refunds',
    rules: [
      { id: 'large', ask: 'refund', when: { amount: { over: 100 } }, because: 'It is a lot.' },
    ],
  },
  approval: { ask: () => ({ approved: true, by: 'anna' }) },
})
run.tool('lookup', ({ order }) => ({ order, customer: 'PRIVATE customer' }))
run.tool('refund', ({ amount }) => `refunded ${amount} to a PRIVATE account`)
await run.call('lookup', { order: 7, secret: 'PRIVATE argument' })
await new Promise((resolve) => setTimeout(resolve, 5))
console.log('PRIVATE output')
const { status } = await run.call('refund', { order: 7, amount: 250 })
console.log(status)
run.end()
