import { existsSync, readFileSync } from 'node:fs'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startModelServer } from '@retake/engine/testing'
import { expect, onTestFinished, test } from 'vitest'
import { run } from '../support/run-retake.mjs'
import { soakOnly } from '../support/soak.js'
import { makeProject, runJest, runVitest } from './runner-project.js'
import { cli } from './workspace.js'

const agent = `
import OpenAI from 'openai'
const client = new OpenAI({ maxRetries: 0 })
const { choices } = await client.chat.completions.create({
  model: 'gpt-4o-mini',
  messages: [{ role: 'user', content: 'Refund ' + process.argv[2] }],
})
console.log(choices[0].message.content, Math.random() < 2)
`
const otherAgent = agent.replace("'Refund '", "'Please refund '")

const library = `
import { record } from 'retake'
import { handle } from './handle.mjs'
await record({ name: 'handle' }, () => handle('order 7'))
`
const handle = `
import OpenAI from 'openai'
export async function handle(text) {
  const client = new OpenAI({ maxRetries: 0 })
  const { choices } = await client.chat.completions.create({
    model: 'gpt-4o-mini',
    messages: [{ role: 'user', content: text }],
  })
  return { answer: choices[0].message.content }
}
`

/** A project with one recorded run of the agent; the model is gone. */
async function recorded(files: Readonly<Record<string, string>> = {}) {
  const server = await startModelServer({
    answer: ({ messages }) => ({ text: `Done: ${messages.at(-1)?.text}` }),
  })
  onTestFinished(() => server.stop())
  const folder = await makeProject({
    'package.json': '{ "type": "module", "private": true }',
    'agent.mjs': agent,
    ...files,
  })
  const retake = (...args: string[]) =>
    run(process.execPath, [cli, ...args], folder, { env: server.env })
  const made = await retake('record', 'agent.mjs', 'order 1182')
  expect(made.code, made.stderr).toBe(0)
  return { folder, retake, server }
}

const nodeTest = (folder: string, file: string) =>
  run(process.execPath, ['--test', file], folder, { env: { OPENAI_API_KEY: '' } })

test('a test for node:test passes offline, and fails when the agent sends another request', async () => {
  const { folder, retake, server } = await recorded()
  await server.stop()
  const written = await retake('test', 'last', '--json')
  expect(written.code, written.stderr).toBe(0)
  const { test: file, command } = JSON.parse(written.stdout) as { test: string; command: string }
  expect(file).toBe(join(folder, 'test/agent.test.mjs'))
  expect(command).toBe('node --test test/agent.test.mjs')
  expect(readFileSync(file, 'utf8')).toContain('Done: Refund order 1182')

  const passed = await nodeTest(folder, file)
  expect(passed.code, passed.stdout).toBe(0)

  await writeFile(join(folder, 'agent.mjs'), otherAgent)
  const failed = await nodeTest(folder, file)
  expect(failed.code).toBe(1)
  expect(failed.stdout).toContain('The agent no longer matches test/tapes/agent.tape.')
  expect(failed.stdout).toContain('Please refund order 1182')
  expect(failed.stdout).toContain('retake test last --force')
})

test('Vitest and Jest get their own kind of test, with an oracle as the assertion', async () => {
  soakOnly()
  const { folder, retake, server } = await recorded({
    'vitest.config.mjs':
      'export default { test: { server: { deps: { external: [/\\/packages\\//] } } } }',
  })
  await server.stop()
  const oracle = ['--oracle', 'stdout:/refund/i']
  const files = await Promise.all(
    ['vitest', 'jest'].map(async (runner) => {
      const args = ['--runner', runner, '--name', `refund ${runner}`, '--json', ...oracle]
      const { stdout, stderr, code } = await retake('test', 'last', ...args)
      expect(code, stderr).toBe(0)
      return (JSON.parse(stdout) as { test: string }).test
    }),
  )
  expect(files.map((file) => file.split('/').at(-1))).toEqual([
    'refund-vitest.test.mjs',
    'refund-jest.test.cjs',
  ])
  const runs = {
    'refund vitest': () => runVitest(folder, {}, ['test/refund-vitest']),
    'refund jest': () => runJest(folder, {}, { args: ['test/refund-jest'] }),
  }
  for (const [name, start] of Object.entries(runs)) {
    const passed = await start()
    expect(passed.tests, passed.text).toEqual({ [name]: 'passed' })
  }
  await writeFile(join(folder, 'agent.mjs'), otherAgent)
  for (const [name, start] of Object.entries(runs)) {
    const { tests } = await start()
    expect(tests[name]).toEqual({
      failed: expect.stringContaining('Please refund order 1182') as string,
    })
  }
})

test('a run of record() becomes a test with its function, its input and its result', async () => {
  soakOnly()
  const { folder, retake, server } = await recorded({ 'app.mjs': library, 'handle.mjs': handle })
  const app = await run(process.execPath, ['app.mjs'], folder, { env: server.env })
  expect(app.code, app.stderr).toBe(0)
  await server.stop()
  const missing = await retake('test', 'last')
  expect(missing).toMatchObject({ code: 1, stdout: '' })
  expect(missing.stderr).toContain('TEST_NEEDS_ENTRY')
  const args = ['--entry', 'handle.mjs#handle', '--input', '"order 7"', '--runner', 'node']
  const written = await retake('test', 'last', ...args)
  expect(written.code, written.stderr).toBe(0)
  const env = { ...server.env }
  const replay = () => run(process.execPath, ['--test', 'test/handle.test.mjs'], folder, { env })
  const passed = await replay()
  expect(passed.code, passed.stdout).toBe(0)
  await writeFile(
    join(folder, 'handle.mjs'),
    handle.replace('content: text', "content: 'x' + text"),
  )
  expect((await replay()).code).toBe(1)
})

test('a branch is written with its parents, and nothing is overwritten without --force', async () => {
  const { folder, retake, server } = await recorded()
  const set = 'choices.0.message.content="Denied"'
  const forked = await retake('fork', 'last', '--at', '1', '--set', set, '--tail', 'offline')
  expect(forked.code, forked.stderr).toBe(0)
  await server.stop()
  const { tapes } = JSON.parse((await retake('test', 'last', '--json')).stdout) as {
    tapes: string[]
  }
  expect(tapes).toHaveLength(2)
  const passed = await nodeTest(folder, 'test/agent.test.mjs')
  expect(passed.code, passed.stdout).toBe(0)
  expect(await readFile(join(folder, 'test/agent.test.mjs'), 'utf8')).toContain('Denied')

  const again = await retake('test', 'last')
  expect(again.code).toBe(1)
  expect(again.stderr).toContain('TEST_FILE_EXISTS')
  expect((await retake('test', 'last', '--force')).code).toBe(0)
  // The tape of the parent is there, with the same content.
  const beside = await retake('test', 'last', '--name', 'beside', '--expect', 'Denied')
  expect(beside.code, beside.stderr).toBe(0)
  expect(await readFile(join(folder, 'test/beside.test.mjs'), 'utf8')).toContain(
    'oracle: "stdout:Denied"',
  )
})

test('the copy of a tape can be rerun and forked, and its branches are in the folder of runs', async () => {
  const { folder, retake } = await recorded()
  expect((await retake('test', 'last')).code).toBe(0)
  const source = await readFile(join(folder, 'agent.mjs'), 'utf8')
  await writeFile(join(folder, 'agent.mjs'), `${source}\nconsole.log('changed')\n`)
  const before = await readdir(join(folder, 'test/tapes'))
  const again = await retake('rerun', 'test/tapes/agent.tape')
  expect(again.code, again.stderr).toBe(0)
  const set = 'choices.0.message.content="Denied"'
  await writeFile(join(folder, 'agent.mjs'), source)
  await rm(join(folder, '.retake'), { recursive: true })
  const forked = await retake('fork', 'test/tapes/agent.tape', '--at', '1', '--set', set)
  expect(forked.code, forked.stderr).toBe(0)
  expect(await readdir(join(folder, 'test/tapes'))).toEqual(before)
  const [, next = ''] = /next {5}retake (.+)/.exec(forked.stderr) ?? []
  expect((await retake(...next.split(' '))).code).toBe(3)
  expect((await retake('replay', 'last')).stdout).toBe(forked.stdout)
})

test('a test that would fail is not written', async () => {
  const { folder, retake } = await recorded()
  const refused = await retake('test', 'last', '--oracle', 'stdout:no such text')
  expect(refused.stderr).toContain('TEST_WOULD_FAIL')
  expect(refused.code).toBe(1)
  await writeFile(join(folder, 'agent.mjs'), otherAgent)
  const diverged = await retake('test', 'last')
  expect(diverged.code).toBe(3)
  expect(diverged.stderr).toContain('No test was written')
  expect(existsSync(join(folder, 'test'))).toBe(false)
  const unknown = await retake('test', 'last', '--runner', 'mocha')
  expect(unknown.code).toBe(2)
})
