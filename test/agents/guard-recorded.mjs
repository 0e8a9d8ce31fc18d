/** A guarded agent that prints all it is told: what it prints must be the same when it is replayed. */
import { guard } from '@retake/guard'

const run = guard({
  name: 'recorded',
  policy: { name: 'shop', rules: [{ deny: 'wipe', because: 'nobody wipes' }] },
  limits: { calls: 4 },
})
run.tool('roll', ({ sides }) => ({ rolled: 1 + Math.floor(Math.random() * sides) }))
run.tool('twice', async ({ sides }) => {
  const { output } = await run.call('roll', { sides })
  return output.rolled * 2
})
run.tool('wipe', () => 'wiped')
run.tool('fail', () => {
  throw new TypeError(`failed at ${Math.random()}`)
})
const calls = [
  ['roll', { sides: 1_000_000 }],
  ['roll', { sides: 1_000_000 }],
  ['twice', { sides: 1_000_000 }],
  ['wipe', {}],
  ['fail', {}],
  ['unknown', {}],
]
for (const [tool, args] of calls) {
  const { status, output, step, intent, facts, error } = await run.call(tool, args)
  console.log(JSON.stringify({ status, output, step, intent, facts, error: error?.message }))
}
