import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startEffectProvider } from '../support/effect-provider.mjs'
import { makeWorkspace, type Workspace } from '../support/run-retake.mjs'

let workspace: Workspace
let provider: Awaited<ReturnType<typeof startEffectProvider>>
beforeAll(async () => {
  provider = await startEffectProvider()
  workspace = await makeWorkspace()
})
afterAll(async () => {
  await provider.close()
  await workspace.remove()
})

test('inspecting a run says which sources changed since, and continues', async () => {
  const agent = join(workspace.folder, 'agent.mjs')
  writeFileSync(
    agent,
    `const response = await fetch(process.env.AGENT_BASE_URL + '/effect', { method: 'POST', body: 'x' })
const { seen } = await response.json()
console.log(seen)
`,
  )
  await workspace.retake(['record', 'agent.mjs'], { env: { AGENT_BASE_URL: provider.url } })
  const before = await workspace.retake(['replay', 'last', '--step', '1'])
  expect(before.stderr).toBe('')
  expect(before.code).toBe(0)

  appendFileSync(agent, '// a remark\n')
  for (const args of [
    ['replay', 'last', '--step', '1'],
    ['debug', 'eval', 'last', '--at', 'agent.mjs:3', 'seen'],
    ['debug', 'step', 'last', '--at', '1'],
  ]) {
    const { stderr, stdout, code } = await workspace.retake(args, { input: '' })
    expect(stderr).toContain('changed since the recording: agent.mjs')
    expect(stdout).toMatch(/x-|agent\.mjs:[23]/)
    expect(code).toBe(0)
  }
})
