import { expect, onTestFinished, test } from 'vitest'
import { hasSandbox } from '../support/has-sandbox.js'
import { agentPath, makeWorkspace, run } from '../support/run-retake.mjs'

/** Only a sandbox makes it safe to give programs other variables. */
const NEEDS_SANDBOX = ['execa, preferLocal']

test.each([
  ['before', 'on'],
  ['after', 'on'],
  ['before', 'off'],
])('ordinary tools work, loaded %s the guard, with the sandbox %s', async (when, sandbox) => {
  const { folder, remove } = await makeWorkspace()
  onTestFinished(remove)
  const args = [agentPath('guard/ordinary-tools.mjs'), when, folder]
  const env = sandbox === 'off' ? { RETAKE_SANDBOX: 'off' } : {}
  const { stdout, stderr } = await run(process.execPath, args, folder, { env })
  const { isSafe, results, refused } = JSON.parse(stdout || JSON.stringify(stderr)) as {
    isSafe: boolean
    results: Readonly<Record<string, string>>
    refused: Readonly<Record<string, string>>
  }
  const isConfined = hasSandbox && sandbox === 'on'
  const broken = Object.entries(results).filter(
    ([name, result]) => result !== 'works' && (isConfined || !NEEDS_SANDBOX.includes(name)),
  )
  expect(broken).toEqual([])
  expect(isSafe).toBe(true)
  expect(Object.entries(refused).filter(([, status]) => status !== 'denied')).toEqual([])
  expect(Object.keys(refused).length).toBeGreaterThan(6)
  expect(Object.keys(results).length).toBeGreaterThan(30)
})
