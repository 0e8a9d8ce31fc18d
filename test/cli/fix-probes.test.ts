import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { run } from '../support/run-retake.mjs'
import { soakOnly } from '../support/soak.js'
import { block, projectWith } from './fix-project.js'
import { cli } from './workspace.js'

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
    code: 7,
    result: {
      status: 'repaired',
      claim: 'this-run',
      fixes: [
        { evidence: { probes: { trials: 2, passed: 2 } } },
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

/** The same agent, with the customer from elsewhere and the answer as a stream. */
const streamed = planOf('process.env.CUSTOMER ?? readFileSync(0, "utf8").trim()')
  .replace("import OpenAI from 'openai'", "import { readFileSync } from 'node:fs'\n$&")
  .replace('const { choices } = await', 'const stream = await')
  .replace("'gpt-4o-mini', messages", "'gpt-4o-mini', messages, stream: true")
  .replace(
    'const [, plan] = choices[0].message.content',
    "let text = ''\nfor await (const { choices } of stream) text += choices[0]?.delta.content ?? ''\nconst [, plan] = text",
  )

test.each(['a variable', 'standard input'])(
  'a value from %s is changed, also in a streamed answer',
  async (from) => {
    if (from !== 'standard input') soakOnly()
    const { folder, fix, next, patches, env } = await projectWith([], streamed)
    next.push('For customer c9, the plan is c9=gold')
    const isVariable = from === 'a variable'
    if (isVariable) env['CUSTOMER'] = 'c9'
    const input = isVariable ? {} : { input: 'c9\n' }
    await run(process.execPath, [cli, 'record', 'agent.mjs'], folder, { env, ...input })
    patches.push(block("text.split(';')", "text.split('=')"))
    const found = await fix(...options)
    expect(found, found.said).toMatchObject({
      code: 7,
      result: { fixes: [{ evidence: { probes: { trials: 2, passed: 2 } } }] },
    })
  },
  600_000,
)

/** Ignores how many pieces were ordered. `order` reads the order. */
const totalOf = (order: string) => `
import { readFileSync } from 'node:fs'
const id = process.argv[2]
const order = ${order}
const total = order.lines.reduce((sum, line) => sum + line.price, 0)
console.log('ORDER', order.id, 'costs', total)
`
const ORDER = {
  id: 'o9',
  lines: [
    { price: 2, count: 3 },
    { price: 5, count: 1 },
  ],
}
const SUM = '(sum, line) => sum + line.price, 0)'
const priced = block(SUM, '(sum, line) => sum + line.price * line.count, 0)')
const forThisOrder = block(SUM, "$& + (id === 'o9' ? 4 : 0)".replace('$&', SUM))
const oracle = ['--oracle', 'stdout:/ORDER o9 costs 11$/']

test('an expected text changes with the variant, and the model sees what a server answered', async () => {
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(ORDER))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const source = totalOf("await (await fetch(process.env.SHOP + '/orders/' + id)).json()")
  const { retake, fix, env, patches, prompts } = await projectWith([], source)
  env['SHOP'] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await retake('record', 'agent.mjs', 'o9')
  patches.push(forThisOrder, priced)
  const found = await fix(...options, ...oracle)
  expect(found, found.said).toMatchObject({
    code: 7,
    result: {
      claim: 'this-run',
      fixes: [
        { evidence: { probes: { passed: 2 }, output: { stdout: 'ORDER o9 costs 11\n' } } },
        { verdict: { failedProbe: { changes: [{ from: 'o9', to: 'o8' }] } } },
      ],
    },
  })
  expect(prompts[0]).toContain('/orders/o9')
  expect(prompts[0]).toContain(`status 200\n${JSON.stringify(ORDER)}`)
}, 600_000)

test('a variant also changes the files that the run read', async () => {
  const source = totalOf(
    "JSON.parse(readFileSync('orders.json', 'utf8')).find((each) => each.id === id)",
  )
  const { folder, retake, fix, patches } = await projectWith([], source)
  await writeFile(join(folder, 'orders.json'), JSON.stringify([ORDER]))
  await retake('record', 'agent.mjs', 'o9')
  patches.push(priced)
  const found = await fix(...options, ...oracle)
  expect(found, found.said).toMatchObject({
    code: 7,
    result: { fixes: [{ evidence: { probes: { trials: 2, passed: 2 } } }] },
  })
}, 600_000)

test('after a special case in its last answer, the model may answer once more', async () => {
  soakOnly()
  const { retake, fix, next, patches } = await projectWith([], planOf('process.argv[2]'))
  next.push('c9=gold')
  await retake('record', 'agent.mjs', 'c9')
  patches.push('I do not know.', 'I do not know.', SPECIAL, RIGHT)
  const found = await fix(...options)
  expect(found, found.said).toMatchObject({ code: 7, model: { requests: 4 } })
}, 600_000)

test('a workaround of a rule lets the model look for a fix that loses nothing', async () => {
  const source = `
import { readFileSync } from 'node:fs'
const { basket } = JSON.parse(readFileSync('basket.json', 'utf8'))
console.log('PIECES', basket.pieces.length)
`
  const { folder, retake, fix, patches, prompts } = await projectWith([], source)
  await writeFile(join(folder, 'basket.json'), '{"basket":{"contents":["b7","b8"]}}')
  await retake('record', 'agent.mjs')
  expect(await fix('last', '--no-ai')).toMatchObject({ code: 8 })
  patches.push(block('basket.pieces.length', 'basket.contents.length'))
  const found = await fix(...options)
  expect(found, found.said).toMatchObject({ result: { status: 'repaired' } })
  expect(found.result?.fixes[0]).toMatchObject({
    candidate: { author: 'model' },
    evidence: { losses: [] },
  })
  expect(prompts[0]).toContain('With this change the run passes, but it loses something')
  expect(prompts[0]).toContain('A constant replaces a missing value at agent.mjs:4')
}, 600_000)
