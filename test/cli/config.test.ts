import { mkdir, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startModelServer } from '@retake/engine/testing'
import { openTape } from '@retake/tape/node'
import { expect, onTestFinished, test } from 'vitest'
import { linkModules } from '../support/run-library.mjs'
import { run } from '../support/run-retake.mjs'
import { cli, folderWith, smallAgent, tapesOf } from './workspace.js'
import { soakOnly } from '../support/soak.js'

/** Asks a model that has no public price twice. */
const agent = `
for (const content of ['one', 'two']) {
  const response = await fetch(process.env.OPENAI_BASE_URL + '/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer ' + process.env.OPENAI_API_KEY },
    body: JSON.stringify({ model: 'house-model', messages: [{ role: 'user', content }] }),
  })
  console.log((await response.json()).choices[0].message.content)
}
`

const prices = {
  'house-model': { input: 10, cachedInput: 1, output: 40, reasoning: 100 },
}
/** What the model says it used; 300 of its 500 output tokens are reasoning. */
const usage = { input: 1000, cachedInput: 2000, output: 500, reasoning: 300 }
const callUsd = (1000 * 10 + 2000 * 1 + 200 * 40 + 300 * 100) / 1e6

async function startModel() {
  const server = await startModelServer({ answer: () => ({ text: 'hello', usage }) })
  onTestFinished(() => server.stop())
  return server
}

test('prices of the config are used wherever a cost is shown; without them the cost is unknown', async () => {
  const workspace = await folderWith({ 'agent.mjs': agent })
  const { retake, folder } = workspace
  const server = await startModel()
  const env = server.env
  await retake(['record', 'agent.mjs'], { env })
  expect((await retake(['show', 'last'])).stdout).toContain('cost unknown')
  expect(JSON.parse((await retake(['list', '--json'])).stdout)).not.toHaveProperty('costUsd')

  await linkModules(folder)
  await writeFile(
    join(folder, 'retake.config.ts'),
    `import { defineConfig, type RetakeConfig } from 'retake'
const config: RetakeConfig = defineConfig({ prices: ${JSON.stringify(prices)} })
export default config`,
  )
  const dollars = `$${(2 * callUsd).toFixed(2)}`
  expect(dollars).toBe('$0.10')
  const show = await retake(['show', 'last'])
  expect(show.stdout).toContain(`1,000 out · ${dollars}`)
  const step = await retake(['show', 'last', '--step', '1'])
  expect(step.stdout).toContain(`$${callUsd.toFixed(2)}`)
  expect((await retake(['list'])).stdout).toContain(dollars)
  const listed = JSON.parse((await retake(['list', '--json'])).stdout) as { costUsd: number }
  expect(listed.costUsd).toBeCloseTo(2 * callUsd, 12)
  const shown = JSON.parse((await retake(['show', 'last', '--json'])).stdout) as {
    totals: { costUsd: number }
  }
  expect(shown.totals.costUsd).toBeCloseTo(2 * callUsd, 12)

  const fork = await retake(
    ['fork', 'last', '--at', '1', '--set', 'choices.0.message.content="x"'],
    {
      env,
    },
  )
  expect(fork.stderr).toContain(`$${callUsd.toFixed(2)}`)
  const ids = (await tapesOf(workspace)).map((tape) => openTape(tape).run.id)
  const diff = await retake(['diff', ids[0] ?? '', ids[1] ?? ''])
  expect(diff.stdout).toContain(dollars)
  expect((await retake(['branches', ids[0] ?? ''])).stdout).toContain('$')
})

const tapesIn = async (folder: string) =>
  (await readdir(folder)).filter((name) => name.endsWith('.tape'))

test('a price for one provider applies only there, and options override the config', async () => {
  soakOnly()
  const workspace = await folderWith({
    'agent.mjs': agent,
    'retake.config.mjs': `export default {
  runs: 'tapes',
  prices: { 'groq/house-model': { input: 1, output: 1 } },
}`,
  })
  const { retake, folder } = workspace
  const server = await startModel()
  await retake(['record', 'agent.mjs'], { env: server.env })
  expect(await tapesIn(join(folder, 'tapes'))).toHaveLength(1)
  expect((await retake(['show', 'last'])).stdout).toContain('cost unknown')
  const recorded = await retake(['record', '--dir', 'elsewhere', 'agent.mjs'], { env: server.env })
  expect(recorded.code).toBe(0)
  expect(await tapesIn(join(folder, 'elsewhere'))).toHaveLength(1)
  expect(await tapesIn(join(folder, 'tapes'))).toHaveLength(1)
  expect((await retake(['list', '--dir', 'elsewhere'])).stdout).toContain('agent')
})

test('the config is looked up from the working folder to the project root, and no further', async () => {
  soakOnly()
  const workspace = await folderWith({
    'retake.config.json': '{ "runs": "far" }',
    'agent.mjs': smallAgent,
  })
  const { folder } = workspace
  const inner = join(folder, 'project', 'src', 'deep')
  await mkdir(inner, { recursive: true })
  const record = () =>
    run(process.execPath, [cli, 'record', join(folder, 'agent.mjs')], inner).then(
      ({ stderr }) => stderr,
    )
  const whereTapesAre = async () =>
    (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('.tape'))

  // Nothing says that this is one project: only the working folder is looked at.
  await record()
  expect(await whereTapesAre()).toEqual([expect.stringMatching(/^project\/src\/deep\/\.retake/)])
  await writeFile(join(folder, 'package.json'), '{}')
  await record()
  expect(await tapesIn(join(folder, 'far'))).toHaveLength(1)
  await mkdir(join(folder, 'project', '.git'))
  await writeFile(join(folder, 'project', 'retake.config.js'), 'module.exports = { runs: "near" }')
  await record()
  expect(await tapesIn(join(folder, 'project', 'near'))).toHaveLength(1)
  await rename(join(folder, 'project', 'retake.config.js'), join(folder, 'project', 'other.js'))
  await record()
  expect(await tapesIn(join(folder, 'far'))).toHaveLength(1)
})

test('a config with a mistake is refused with its path and a suggestion', async () => {
  const { retake, folder } = await folderWith({ 'retake.config.json': '{ "run": "x" }' })
  const { stdout, code } = await retake(['list', '--json'])
  expect(code).toBe(1)
  expect(JSON.parse(stdout)).toMatchObject({
    error: {
      code: 'CONFIG_INVALID',
      what: `The configuration ${join(folder, 'retake.config.json')} is not valid.`,
      why: 'run: Unknown key "run". Did you mean runs?',
    },
  })
})

test('a config that cannot be loaded says why; help works without it', async () => {
  soakOnly()
  const { retake, folder } = await folderWith({ 'retake.config.json': '{ "runs": ' })
  const broken = await retake(['list'])
  expect(broken.code).toBe(1)
  expect(broken.stderr).toContain('CONFIG_UNREADABLE')
  expect((await retake(['list', '--help'])).code).toBe(0)
  await rename(join(folder, 'retake.config.json'), join(folder, 'x.json'))
  await writeFile(join(folder, 'retake.config.ts'), '\nthrow new Error("not today")')
  expect((await retake(['list'])).stderr).toMatch(/retake\.config\.ts:2:7 cannot .*\n.*not today/)
})

test('matchers of the config are used by record, replay and verify of a command', async () => {
  soakOnly()
  const command = `
const response = await fetch(process.env.OPENAI_BASE_URL + '/chat/completions', {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ model: 'house-model', messages: [{ role: 'user', content: 'nonce ' + Math.random() }] }),
})
console.log((await response.json()).choices[0].message.content)
`
  const matcher = `
export default (request) => ({
  ...request,
  body: Buffer.from(Buffer.from(request.body).toString().replace(/nonce [\\d.]+/, 'nonce')),
})`
  const workspace = await folderWith({ 'command.mjs': command })
  const { retake, folder } = workspace
  const server = await startModel()
  const record = ['record', '--', process.execPath, 'command.mjs']
  await retake(record, { env: server.env })
  expect((await retake(['replay', 'last'])).code).toBe(3)

  await mkdir(join(folder, 'matchers'))
  await writeFile(join(folder, 'matchers', 'nonce.mjs'), matcher)
  await writeFile(join(folder, 'retake.config.json'), '{ "matchers": ["./matchers/nonce.mjs"] }')
  // Also for a run that was recorded before there was one.
  expect((await retake(['replay', 'last'])).code).toBe(0)
  await retake(record, { env: server.env })
  await server.stop()
  const [, tape = ''] = await tapesOf(workspace)
  expect(openTape(tape).details.proxy?.matchers).toEqual(['./matchers/nonce.mjs'])
  expect((await retake(['verify', 'last'])).code).toBe(0)
})
