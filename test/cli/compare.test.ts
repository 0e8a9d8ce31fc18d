import { existsSync, readdirSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startModelServer } from '@retake/engine/testing'
import { expect, onTestFinished, test } from 'vitest'
import { run } from '../support/run-retake.mjs'
import { soakOnly } from '../support/soak.js'
import { makeProject } from './runner-project.js'
import { cli } from './workspace.js'

/** Asks a model what to do, does it with a tool, and asks for a summary. */
const agent = `
import { appendFileSync } from 'node:fs'
import OpenAI from 'openai'
import { tool } from 'retake'
const client = new OpenAI({ maxRetries: 0 })
const refund = tool('refund', async (id) => {
  appendFileSync(process.env.EFFECTS, id + '\\n')
  return { id, done: true }
})
const ask = async (text) => {
  const { choices } = await client.chat.completions.create({
    model: 'gpt-4o-mini',
    messages: [{ role: 'system', content: 'Be kind.' }, { role: 'user', content: text }],
  })
  return choices[0].message.content
}
const plan = await ask('Which order?')
const { done } = await refund(plan)
console.log(await ask('Summarize: ' + plan + ' ' + done))
`

async function recorded() {
  let count = 0
  const server = await startModelServer({
    answer: ({ body, messages }) => {
      const { model } = body
      const system = messages[0]?.text
      if (model === 'down') return { error: { status: 503, message: 'overloaded' } }
      if (model === 'nobody') return { error: { status: 404, message: 'no such model' } }
      const usage = { input: 1000, output: 100 }
      if (messages.at(-1)?.text === 'Which order?')
        return { text: model === 'gpt-4o' ? 'order 2' : 'order 1', usage }
      const isGood = model === 'gpt-4o-mini' && (system !== 'Be rude.' || count++ % 2 === 0)
      return { text: isGood ? 'All good' : 'Sorry', usage }
    },
  })
  onTestFinished(() => server.stop())
  const folder = await makeProject({
    'agent.mjs': agent,
    'rude.md': 'Be rude.',
    'kind.md': 'Be nice.',
  })
  const effects = join(folder, 'effects.txt')
  await writeFile(effects, '')
  const env = { ...server.env, EFFECTS: effects }
  const retake = async (...args: string[]) => {
    const before = server.requests.length
    const finished = await run(process.execPath, [cli, ...args], folder, { env })
    return { ...finished, sent: server.requests.length - before }
  }
  expect((await retake('record', 'agent.mjs')).code).toBe(0)
  await rm(effects)
  const compare = async (...args: string[]) => {
    const base = ['--oracle', 'stdout:good', '--times', '3', '--jobs', '1', '--yes', '--json']
    const finished = await retake('compare', 'last', ...base, ...args)
    const parsed = finished.stdout === '' ? {} : JSON.parse(finished.stdout)
    return { ...finished, ...(parsed as { rows: Row[]; spentUsd: number }) }
  }
  return { folder, effects, retake, compare }
}

interface Row {
  readonly name: string
  readonly trials: number
  readonly judged: number
  readonly passed: number
  readonly interval?: { readonly low: number; readonly high: number }
  readonly costUsd?: number
  readonly note?: string
  readonly difference?: string
}

test('models are compared in a table; one that is down or unknown keeps its row, and nothing takes effect', async () => {
  const { compare, retake, effects, folder } = await recorded()
  const found = await compare('--at', '3', '--models', 'gpt-4o-mini,gpt-4o,down,nobody')
  expect(found.code, found.stderr).toBe(0)
  expect(found.rows).toMatchObject([
    {
      name: 'gpt-4o-mini',
      judged: 3,
      passed: 3,
      interval: { low: expect.closeTo(0.25, 6) as number, high: 1 },
    },
    { name: 'gpt-4o', judged: 3, passed: 0 },
    { name: 'down', judged: 0, note: expect.stringContaining('status 503') as string },
    { name: 'nobody', judged: 0, note: expect.stringContaining('status 404') as string },
  ])
  // Two tries each for the rows that fail.
  expect(found.sent).toBe(3 + 3 + 2 + 2)
  expect(found.stderr).toContain('4 rows · 12 forks')
  const dear = found.rows[1]?.costUsd ?? 0
  expect(dear).toBeCloseTo(3 * (1000 * 2.5 + 100 * 10) * 1e-6, 6)
  expect(existsSync(effects)).toBe(false)
  // Forks are beside the run, not among the runs.
  expect(
    readdirSync(join(folder, '.retake/runs')).filter((each) => each.endsWith('.tape')),
  ).toHaveLength(1)

  const again = await compare('--at', '3', '--models', 'gpt-4o-mini,gpt-4o')
  expect(again.sent).toBe(0)
  expect(again.rows).toEqual(found.rows.slice(0, 2))
  const text = await retake(
    'compare',
    'last',
    '--at',
    '3',
    '--models',
    'gpt-4o',
    '--times',
    '3',
    '--oracle',
    'stdout:good',
  )
  expect(text.stdout).toMatch(/gpt-4o\s+0 of 3\s+\[0–\.75\]\s+\$0\.0035/)
})

test('a fork that would have an effect ends there unless tools may run', async () => {
  soakOnly()
  const { compare, effects } = await recorded()
  const served = await compare('--at', '1', '--models', 'gpt-4o-mini,gpt-4o')
  expect(served.rows).toMatchObject([
    { judged: 3, passed: 3 },
    { judged: 0, note: expect.stringContaining('refund') as string },
  ])
  expect(existsSync(effects)).toBe(false)
  const live = await compare('--at', '1', '--models', 'gpt-4o', '--live-tools')
  expect(live.rows).toMatchObject([{ judged: 3, passed: 0 }])
})

test('prompts are compared, within a budget that may end in the middle', async () => {
  soakOnly()
  const { compare } = await recorded()
  // One fork costs 0.00021: the budget is enough for four of six.
  const found = await compare(
    '--at',
    '3',
    '--prompt',
    'kind.md',
    '--prompt',
    'rude.md',
    '--max-usd',
    '0.0009',
  )
  expect(found.rows).toMatchObject([
    { name: 'kind.md', judged: 3, passed: 3 },
    { name: 'rude.md', judged: 1, passed: 1, note: '2 missing: out of budget' },
  ])
  const rest = await compare('--at', '3', '--prompt', 'kind.md', '--prompt', 'rude.md')
  expect(rest.sent).toBe(2)
  expect(rest.rows).toMatchObject([{ passed: 3 }, { judged: 3, passed: 2 }])
})

test('each mistake is one clear error', async () => {
  const { retake } = await recorded()
  const cases = [
    [['last~1'], 2, 'retake diff <run> <run>'],
    [['--at', '3'], 2, 'Nothing to compare.'],
    [['--at', '3', '--models', 'a,a'], 2, 'a is given twice.'],
    [['--at', '3', '--models', 'a'], 2, 'Missing option --oracle'],
    [['--at', '99', '--models', 'a', '--oracle', 'exit:0'], 1, 'NO_SUCH_STEP'],
    [['--at', '3', '--prompt', 'none.md', '--oracle', 'exit:0'], 1, 'none.md'],
    [
      ['--at', '3', '--models', 'a', '--max-usd', '1', '--oracle', 'exit:0'],
      2,
      'cannot be guaranteed',
    ],
  ] as const
  for (const [args, code, text] of cases) {
    const finished = await retake('compare', 'last', ...args)
    expect(finished.stderr).toContain(text)
    expect(finished).toMatchObject({ code, sent: 0 })
  }
})
