import { expect, test } from 'vitest'
import { projectWith } from './fix-project.js'

const ask = `
import OpenAI from 'openai'
const client = new OpenAI({ maxRetries: 0 })
const messages = [{ role: 'user', content: 'Fill a basket.' }]
const { choices } = await client.chat.completions.create({ model: 'gpt-4o-mini', messages })
const basket = JSON.parse(choices[0].message.content)
`
const buyer = `${ask}const names = basket.items.map((item) => item.name)
console.log(names.length + ' items. Buy!')
`
const adder = `${ask}const total = basket.items.reduce((sum, item) => sum + item.price, 0)
console.log('total ' + total)
`
const moved = JSON.stringify({
  data: {
    items: [
      { name: 'bolt', price: '3' },
      { name: 'nut', price: '4' },
    ],
  },
})

async function failedRun(agent: string) {
  const project = await projectWith([], agent)
  project.next.push(moved)
  await project.retake('record', 'agent.mjs')
  return project
}

test('with one failed run, the value that moved comes before an empty one in its place', async () => {
  const { fix } = await failedRun(buyer)
  const result = await fix('last', '--no-ai')
  expect(result, result.said).toMatchObject({
    code: 7,
    result: {
      status: 'repaired',
      claim: 'this-run',
      fixes: [
        {
          candidate: { operator: 'field-alias' },
          verdict: { status: 'repairs' },
          evidence: { losses: [], output: { stdout: '2 items. Buy!\n' } },
        },
        {
          candidate: { operator: 'missing-value' },
          verdict: { status: 'workaround' },
          evidence: { losses: [{ code: 'DEFAULT_ADDED' }], output: { stdout: '0 items. Buy!\n' } },
        },
        { candidate: { operator: 'missing-value' }, verdict: { status: 'rejected' } },
      ],
    },
  })
}, 600_000)

test('two faults, of which the second shows only without the first, are repaired together', async () => {
  const { fix } = await failedRun(adder)
  const args = ['last', '--no-ai', '--oracle', 'stdout:/total 7/']
  const first = await fix(...args)
  expect(first, first.said).toMatchObject({ code: 7, result: { status: 'repaired' } })
  expect(first.result?.fixes[0]).toMatchObject({
    candidate: { operator: 'field-alias+number-from-text' },
    verdict: { status: 'repairs' },
    evidence: { losses: [], output: { stdout: 'total 7\n' } },
  })
  // The stored trials have no tapes, and lead to the same fix.
  const again = await fix(...args)
  expect(again.result?.fixes[0]?.candidate.id).toBe(first.result?.fixes[0]?.candidate.id)
}, 600_000)
