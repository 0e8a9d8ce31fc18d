import { pathToFileURL } from 'node:url'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startModelServer } from '@retake/engine/testing'
import type { FixResult } from '@retake/lab/proof'
import { expect, onTestFinished, test } from 'vitest'
import { hasSandbox } from '../support/has-sandbox.js'
import { run } from '../support/run-retake.mjs'
import { makeProject } from './runner-project.js'
import { cli } from './workspace.js'

const prices = `
const prices = [
  { name: 'pear', price: 2, effectiveFrom: '2024-01-01' },
  { name: 'pear', price: 3, effectiveFrom: '2026-01-01' },
]
export const find = ({ name }) => prices.find((each) => each.name === name)
`

const agent = `
import { tool } from 'retake'
const prices = [
  { name: 'pear', price: 2, effectiveFrom: '2024-01-01' },
  { name: 'pear', price: 3, effectiveFrom: '2026-01-01' },
]
const priceOf = tool('price_of', ({ name }) => prices.find((each) => each.name === name))
console.log('PRICE', (await priceOf({ name: 'pear' })).price)
`

test('a fix of a function that only a tool calls is not called a failure', async () => {
  const folder = await makeProject({
    'package.json': '{ "type": "module", "private": true }',
    'prices.mjs': prices,
    'agent.mjs': `
import { tool } from 'retake'
import { find } from './prices.mjs'
const priceOf = tool('price_of', (args) => find(args))
console.log('PRICE', (await priceOf({ name: 'pear' })).price)
`,
  })
  const retake = (args: readonly string[], env = {}) =>
    run(process.execPath, [cli, ...args], folder, { env })
  await retake(['record', 'agent.mjs'])
  const fix = ['fix', 'last', '--oracle', 'stdout:/PRICE 3/', '--no-ai', '--offline', '--no-locate']
  for (const env of [{}, { RETAKE_SANDBOX: 'off' }]) {
    const { stdout } = await retake(fix, env)
    expect(stdout).toMatch(/Take the newest match by `effectiveFrom` in prices.mjs/)
    expect(stdout.replace(/\s+/g, ' ')).toContain(
      'Code that only price_of calls did not run, because the tape answered.',
    )
    expect(stdout).not.toContain('still fails')
  }
})

test('what the permission model refuses is not called a failure of the agent', async () => {
  const elsewhere = await makeProject({
    'index.mjs': prices,
    'package.json': '{ "type": "module", "exports": "./index.mjs" }',
  })
  const folder = await makeProject({
    'package.json': '{ "type": "module", "private": true }',
    'agent.mjs': `
const { find } = await import(process.env.PRICES)
console.log('PRICE', find({ name: 'pear' }).price)
`,
  })
  const env = { PRICES: pathToFileURL(join(elsewhere, 'index.mjs')).href, RETAKE_SANDBOX: 'off' }
  const retake = (args: readonly string[]) => run(process.execPath, [cli, ...args], folder, { env })
  expect((await retake(['record', 'agent.mjs'])).stdout).toBe('PRICE 2\n')
  const { stdout } = await retake([
    'fix',
    'last',
    '--oracle',
    'stdout:/PRICE 3/',
    '--no-ai',
    '--offline',
    '--no-locate',
  ])
  expect(stdout.replace(/\s+/g, ' ')).toMatch(
    /No run came to a verdict: Node's permission model refused something that the agent does/,
  )
  expect(stdout).not.toMatch(/trials fail|still fails/)
})

const oracle = ['--oracle', 'stdout:/PRICE 3/', '--no-ai', '--offline', '--no-locate']

test("a fix inside a tool is tried under Node's permission model, and refused nothing that it needs", async () => {
  const folder = await makeProject({
    'package.json': '{ "type": "module", "private": true }',
    'agent.mjs': agent,
  })
  const retake = (args: readonly string[], env = {}) =>
    run(process.execPath, [cli, ...args], folder, { env })
  expect((await retake(['record', 'agent.mjs'])).stdout).toBe('PRICE 2\n')
  const fix = ['fix', 'last', ...oracle]
  for (const args of [[], ['--no-sandbox', '--fresh']]) {
    const { stdout, stderr } = await retake([...fix, ...args, '--json'], { RETAKE_SANDBOX: 'off' })
    const { result, confined } = JSON.parse(stdout) as { result: FixResult; confined: boolean }
    expect(result.status, stderr).toBe('repaired')
    expect(result.fixes[0]?.evidence.fixed).toMatchObject({ trials: 2, passed: 2 })
    expect(confined).toBe(args.length === 0)
  }
  expect(readFileSync(join(folder, 'agent.mjs'), 'utf8')).toBe(agent)
})

test('a fix inside a tool is not called a failure where no sandbox can run it', async () => {
  const folder = await makeProject({
    'package.json': '{ "type": "module", "private": true }',
    'agent.ts': agent,
  })
  const retake = (args: readonly string[], env = {}) =>
    run(process.execPath, [cli, ...args], folder, { env })
  // The loader starts a process, which the permission model would not confine.
  const recorded = await retake(['record', '--node-arg=--import=tsx', 'agent.ts'])
  expect(recorded.stdout).toBe('PRICE 2\n')
  const fix = ['fix', 'last', ...oracle]
  const off = { RETAKE_SANDBOX: 'off' }

  const untried = await retake(fix, off)
  expect(untried.code).toBe(5)
  expect(untried.stdout).toMatch(/^could not be tried · 2 of 2 trials fail /)
  expect(untried.stdout).toMatch(
    /not tried: 1 candidate\n {4}Take the newest match by `effectiveFrom`/,
  )
  expect(untried.stdout).toContain('It changes the code of price_of, which runs only in a sandbox.')
  expect(untried.stdout).toMatch(
    / {2}fix {2}Install bubblewrap[^]*--no-sandbox\.\n {2}code FIX_TOOL_NOT_RUN\n/,
  )
  expect(untried.stdout).not.toMatch(/still fails|not fixed/)

  const json = await retake([...fix, '--json'], off)
  const { result, noSandbox } = JSON.parse(json.stdout) as { result: FixResult; noSandbox: string }
  expect(result).toMatchObject({
    status: 'untried',
    tried: 0,
    fixes: [
      {
        verdict: { status: 'untried', code: 'FIX_TOOL_NOT_RUN', tools: ['price_of'] },
        evidence: { fixed: { trials: 0 } },
      },
    ],
  })
  expect(noSandbox).toContain('RETAKE_SANDBOX=off')

  // With the risk accepted, the same candidate is tried.
  const accepted = await retake([...fix, '--no-sandbox', '--fresh', '--json'], off)
  expect(JSON.parse(accepted.stdout)).toMatchObject({ result: { status: 'repaired' } })
  expect(accepted.stderr).toContain('run without a sandbox, as --no-sandbox allows: RETAKE')
})

test('a variable that a fix needs and the failed run did not read is named, and taken from --env', async () => {
  const folder = await makeProject({
    'package.json': '{ "type": "module", "private": true }',
    'agent.mjs': `
const orders = [{ id: 10, total: 1 }, { id: 9, total: 2 }]
const last = orders.map(({ id }) => id).sort().at(-1)
if (last !== 10) throw new Error('order ' + last + ' is not the last one')
console.log('ADDRESS', new URL(process.env.WORLD + '/accounts/9').href)
`,
  })
  const retake = (args: readonly string[], env = {}) =>
    run(process.execPath, [cli, ...args], folder, { env: { RETAKE_SANDBOX: 'off', ...env } })
  await retake(['record', 'agent.mjs'])
  const fix = ['fix', 'last', '--no-ai', '--offline', '--no-locate']

  const untried = await retake(fix)
  expect(untried.code, untried.stdout).toBe(5)
  expect(untried.stdout.replace(/\s+/g, ' ')).toContain('It needs WORLD')
  expect(untried.stdout).toContain('--env WORLD=value')
  expect(untried.stdout).toContain('code FIX_VARIABLE_MISSING')
  expect(untried.stdout).not.toMatch(/Invalid URL|still fails|not fixed/)

  for (const [args, env] of [
    [['--env', 'WORLD=http://localhost:1'], {}],
    [[], { WORLD: 'http://localhost:1' }],
  ] as const) {
    const { stdout, stderr } = await retake([...fix, '--fresh', '--json', ...args], env)
    const { result } = JSON.parse(stdout) as { result: FixResult }
    expect(result.status, stderr + result.reason).toBe('repaired')
    expect(result.fixes[0]?.evidence.output?.stdout).toBe('ADDRESS http://localhost:1/accounts/9\n')
  }
})

test('a fix whose requests the failed run never reached is tried at the address in a variable, and otherwise not called a failure', async (context) => {
  context.skip(!hasSandbox, 'there is no bubblewrap')
  const server = await startModelServer({ answer: () => ({ text: 'pay' }) })
  onTestFinished(() => server.stop())
  const { OPENAI_BASE_URL = '', OPENAI_API_KEY = '' } = server.env
  const address = new URL(OPENAI_BASE_URL).host
  const projectWith = async (options: string) => {
    const folder = await makeProject({
      'package.json': '{ "type": "module", "private": true }',
      'agent.mjs': `
import OpenAI from 'openai'
const orders = [{ id: 10, total: 1 }, { id: 9, total: 2 }]
const last = orders.map(({ id }) => id).sort().at(-1)
if (last !== 10) throw new Error('order ' + last + ' is not the last one')
const messages = [{ role: 'user', content: 'Decide on order ' + last }]
const client = new OpenAI({ ${options} })
const { choices } = await client.chat.completions.create({ model: 'gpt-4o-mini', messages })
console.log('RESULT', choices[0].message.content)
`,
    })
    const retake = (args: readonly string[], env = {}) =>
      run(process.execPath, [cli, ...args], folder, { env })
    await retake(['record', 'agent.mjs'])
    return async (env: object, ...args: readonly string[]) => {
      const fix = ['fix', 'last', '--no-ai', '--no-locate', '--yes', '--fresh']
      const shown = await retake([...fix, ...args, '--json'], env)
      const { result, confined } = JSON.parse(shown.stdout) as {
        result: FixResult
        confined: boolean
      }
      return { result, confined, shown, card: () => retake([...fix, ...args], env) }
    }
  }

  const fixed = await projectWith('maxRetries: 0')
  const repaired = await fixed({ OPENAI_BASE_URL, OPENAI_API_KEY })
  expect(repaired.result.status, repaired.shown.stdout + repaired.shown.stderr).toBe('repaired')
  expect(repaired.result.fixes[0]?.evidence.output?.stdout).toBe('RESULT pay\n')
  expect(repaired.confined).toBe(true)

  const withoutAddress = await fixed({ OPENAI_API_KEY })
  expect(withoutAddress.result.fixes[0]?.verdict).toMatchObject({
    code: 'FIX_ADDRESS_MISSING',
    address: 'api.openai.com:443',
  })

  const withoutKey = await fixed({ OPENAI_BASE_URL })
  expect(withoutKey.result).toMatchObject({
    status: 'untried',
    fixes: [{ verdict: { code: 'FIX_VARIABLE_MISSING', variables: ['OPENAI_API_KEY'] } }],
  })

  const hardCoded = await projectWith(
    `maxRetries: 0, baseURL: '${OPENAI_BASE_URL}', apiKey: 'not-needed'`,
  )
  const asked = server.requests.length
  const untried = await hardCoded({})
  expect(untried.result, untried.shown.stderr).toMatchObject({
    status: 'untried',
    tried: 0,
    fixes: [{ verdict: { status: 'untried', code: 'FIX_ADDRESS_MISSING', address } }],
  })
  expect(server.requests).toHaveLength(asked)
  const { code, stdout } = await untried.card()
  expect(code).toBe(5)
  expect(stdout).toContain('code FIX_ADDRESS_MISSING')
  expect(stdout).not.toMatch(/still fails|not fixed/)

  const accepted = await hardCoded({}, '--no-sandbox')
  expect(accepted.result.status, accepted.shown.stderr).toBe('repaired')
  expect(accepted.confined).toBe(false)
})
