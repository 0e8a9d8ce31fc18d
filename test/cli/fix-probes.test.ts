import { expect, test } from 'vitest'
import { block, projectWith } from './fix-project.js'

/** The model answers `c9=gold`, and the agent expects a semicolon. */
const planOf = (customer: string) => `
import OpenAI from 'openai'
const client = new OpenAI({ maxRetries: 0 })
const customer = ${customer}
const messages = [{ role: 'user', content: 'Which plan does this customer have? ' + customer }]
const { choices } = await client.chat.completions.create({ model: 'gpt-4o-mini', messages })
const [, plan] = choices[0].message.content.split(';')
if (plan === undefined) throw new Error('no plan for ' + customer)
console.log(customer, 'has', plan)
`

const LINE = "const [, plan] = choices[0].message.content.split(';')"
const RIGHT = block(LINE, LINE.replace(';', '='))
const SPECIAL = block(
  LINE,
  "const plan = customer === 'c9' ? choices[0].message.content.slice(3) : undefined",
)

const options = ['last', '--model', 'fixer', '--no-locate', '--yes']

test('from one failed run, a special case for its values is rejected, and the model gets the variant', async () => {
  const { retake, fix, next, patches, prompts } = await projectWith([], planOf('process.argv[2]'))
  next.push('c9=gold')
  await retake('record', 'agent.mjs', 'c9')
  patches.push(SPECIAL, RIGHT)
  const found = await fix(...options)
  expect(found, found.said).toMatchObject({
    code: 6,
    result: {
      status: 'repaired',
      claim: 'this-kind',
      fixes: [
        { evidence: { probes: { trials: 1, passed: 1 } } },
        {
          verdict: {
            status: 'rejected',
            failedProbe: { changes: [{ from: 'c9', to: 'c8' }] },
          },
        },
      ],
    },
    model: { requests: 2 },
  })
  expect(prompts[1]).toContain('with “c8” instead of “c9”, the run fails as before')
}, 600_000)

test('a fix that writes a value of the run does not repair a variant of it', async () => {
  const { retake, fix, next, patches } = await projectWith([], planOf('process.argv[2]'))
  next.push('c9=gold')
  await retake('record', 'agent.mjs', 'c9')
  patches.push(block(LINE, "const plan = 'gold, as c9 has'"))
  const found = await fix(...options)
  expect(found, found.said).toMatchObject({ code: 1 })
  expect(found.said).toContain('with “c8” instead of “c9”, the run still writes “c9”')
}, 600_000)

test('a failure without values that could be changed stays a repair of this run', async () => {
  const { retake, fix, next, patches } = await projectWith([], planOf("'c9'"))
  next.push('c9=gold')
  await retake('record', 'agent.mjs')
  patches.push(RIGHT)
  const found = await fix(...options)
  expect(found, found.said).toMatchObject({
    code: 7,
    result: { claim: 'this-run', fixes: [{ evidence: { probes: { trials: 0 } } }] },
  })
}, 600_000)
