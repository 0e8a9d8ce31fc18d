import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startModelServer } from '@retake/engine/testing'
import { openTape } from '@retake/tape/node'
import { copyAsTest, RunModel } from '@retake/web'
import { expect, onTestFinished, test } from 'vitest'
import { makeProject, runVitest } from '../cli/runner-project.js'
import { cli } from '../cli/workspace.js'
import { run } from '../support/run-retake.mjs'
import { soakOnly } from '../support/soak.js'

const agent = `
const ask = (content) =>
  fetch(process.env.OPENAI_BASE_URL + '/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content }] }),
  }).then((response) => response.json())
await ask('Where is order 1182?')
const { choices } = await ask("What's the policy?")
console.log(choices[0].message.content)
`

const files = {
  'vitest.config.mjs':
    'export default { test: { server: { deps: { external: [/\\/packages\\//] } } } }',
  'package.json': '{ "type": "module", "private": true }',
  'agent.mjs': agent,
}

/** A project with one recorded run of its agent, and a test copied from the second step. */
async function copiedTest(args: readonly string[]): Promise<{ folder: string; text: string }> {
  const folder = await makeProject(files)
  const server = await startModelServer({
    answer: ({ messages }) => ({ text: `It's "${messages.at(-1)?.text}"` }),
  })
  onTestFinished(() => server.stop())
  const recorded = await run(process.execPath, [cli, 'record', ...args], folder, {
    env: server.env,
  })
  expect(recorded.code, recorded.stderr).toBe(0)
  await server.stop()
  const runs = readdirSync(join(folder, '.retake/runs'))
  const tape = runs.find((name) => name.endsWith('.tape')) ?? ''
  const model = new RunModel(openTape(join(folder, '.retake/runs', tape)), { status: 'done' })
  const detail = model.step('2')
  if (detail === undefined) throw new Error('no step')
  const text = copyAsTest(model.head(), detail)
  writeFileSync(join(folder, 'step-2.test.mjs'), text)
  return { folder, text }
}

const change = (folder: string, from: string, to: string): void => {
  const file = join(folder, 'agent.mjs')
  writeFileSync(file, readFileSync(file, 'utf8').replace(from, to))
}

test('a copied test passes as it is, and fails when its step changes', async () => {
  const { folder, text } = await copiedTest(['agent.mjs'])
  expect(text).toContain("await expect('agent.mjs').toReplay(")
  const passed = await runVitest(folder, { CI: 'true' })
  expect(passed.code, passed.text).toBe(0)
  expect(Object.values(passed.tests)).toEqual(['passed'])
  change(folder, "What's the policy?", "What's the law?")
  const failed = await runVitest(folder, { CI: 'true' })
  expect(failed.code).toBe(1)
  expect(JSON.stringify(failed.tests)).toContain("What's the law?")
})

test('a copied test of a recorded command does the same', async () => {
  soakOnly()
  const { folder, text } = await copiedTest(['--', 'node', 'agent.mjs'])
  expect(text).toContain("['retake', 'replay', ")
  const passed = await runVitest(folder, { CI: 'true' })
  expect(passed.code, JSON.stringify(passed)).toBe(0)
  change(folder, "What's the policy?", "What's the law?")
  expect((await runVitest(folder, { CI: 'true' })).code).toBe(1)
})
