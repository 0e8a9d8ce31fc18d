import { pathToFileURL } from 'node:url'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FixResult } from '@retake/lab/proof'
import { expect, test } from 'vitest'
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

test('a fix inside a tool is not called a failure where no sandbox can run it', async () => {
  const folder = await makeProject({
    'package.json': '{ "type": "module", "private": true }',
    'agent.mjs': agent,
  })
  const retake = (args: readonly string[], env = {}) =>
    run(process.execPath, [cli, ...args], folder, { env })
  expect((await retake(['record', 'agent.mjs'])).stdout).toBe('PRICE 2\n')
  const fix = ['fix', 'last', '--oracle', 'stdout:/PRICE 3/', '--no-ai', '--offline', '--no-locate']
  const off = { RETAKE_SANDBOX: 'off' }

  const untried = await retake(fix, off)
  expect(untried.code).toBe(5)
  // The trials without a fix ran: what the permission model refuses would have no verdict.
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
  expect(json.code).toBe(5)
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

  // With the risk accepted, or with a sandbox, the same candidate is tried, and works.
  const proven = await retake([...fix, hasSandbox ? '--json' : '--no-sandbox'])
  expect(proven.code).toBe(7)
  const accepted = await retake([...fix, '--no-sandbox', '--fresh'], off)
  expect(accepted.code, accepted.stdout + accepted.stderr).toBe(7)
  expect(accepted.stdout).toMatch(/^repairs this run · Take the newest match/)
  expect(accepted.stderr).toContain('run without a sandbox, as --no-sandbox allows: RETAKE')
  expect(readFileSync(join(folder, 'agent.mjs'), 'utf8')).toBe(agent)
})
