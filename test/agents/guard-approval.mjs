import { guard } from 'retake'

/** Asks for a refund that needs approval, says what became of it, and ends. */
const run = guard({
  name: 'refunds',
  policy: {
    name: 'shop',
    rules: [
      { id: 'large', ask: 'refund', when: { amount: { over: 100 } }, because: 'It is a lot.' },
    ],
  },
  approval: { ask: process.argv[2], expiresMs: Number(process.argv[3] ?? 60_000) },
})
run.tool('refund', ({ amount }) => `refunded ${amount}`)
const { status, output, error, facts } = await run.call('refund', {
  amount: 900,
  items: Array.from({ length: 61 }, (_, index) => `item ${index}`),
  also: new Map([['note', 'hidden in a map']]),
  to: '<b>Ann</b>',
})
run.end()
console.log(
  JSON.stringify({ status, output, code: error?.code, message: error?.message, ...facts.approval }),
)
