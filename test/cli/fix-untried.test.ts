import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FixResult } from '@retake/diagnose/fix'
import { expect, test } from 'vitest'
import { hasSandbox } from '../support/has-sandbox.js'
import { run } from '../support/run-retake.mjs'
import { makeProject } from './runner-project.js'
import { cli } from './workspace.js'

const agent = `
import { tool } from 'retake'
const prices = [
  { name: 'pear', price: 2, effectiveFrom: '2024-01-01' },
  { name: 'pear', price: 3, effectiveFrom: '2026-01-01' },
]
const priceOf = tool('price_of', ({ name }) => prices.find((each) => each.name === name))
console.log('PRICE', (await priceOf({ name: 'pear' })).price)
`

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

  // With the risk accepted, or with a sandbox, the same candidate is tried and proven.
  const proven = await retake([...fix, hasSandbox ? '--json' : '--no-sandbox'])
  expect(proven.code).toBe(0)
  const accepted = await retake([...fix, '--no-sandbox', '--fresh'], off)
  expect(accepted.code, accepted.stdout + accepted.stderr).toBe(0)
  expect(accepted.stdout).toMatch(/^fixed · Take the newest match/)
  expect(accepted.stderr).toContain('run without a sandbox, as --no-sandbox allows: RETAKE')
  expect(readFileSync(join(folder, 'agent.mjs'), 'utf8')).toBe(agent)
})
