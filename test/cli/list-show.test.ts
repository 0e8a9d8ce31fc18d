import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { makeWorkspace, type Workspace } from '../support/run-retake.mjs'
import { type Provider, startProvider } from '../support/loopback-provider.mjs'
import { folderWith, smallAgent } from './workspace.js'
import { soakOnly } from '../support/soak.js'

test('list shows runs newest first, with how they ended', async () => {
  const { retake } = await folderWith({
    'fine.mjs': smallAgent,
    'fails.mjs': 'process.exit(4)',
    'dies.mjs': `process.kill(process.pid, 'SIGKILL')`,
  })
  for (const file of ['fine.mjs', 'fails.mjs', 'dies.mjs']) await retake(['record', file])
  const { stdout } = await retake(['list'])
  const rows = stdout.trimEnd().split('\n')
  expect(rows[0]).toMatch(/^run +when +status +steps +took +cost +name$/)
  expect(rows.slice(1).map((row) => row.split(/ {2,}/)[2])).toEqual(['killed', 'failed', 'done'])
  const asJson = (await retake(['list', '--json'])).stdout.trimEnd().split('\n')
  expect(asJson.map((line) => (JSON.parse(line) as { name: string }).name)).toEqual([
    'dies',
    'fails',
    'fine',
  ])
})

test('a fork that stops offline, because its parent has no answer, is not listed as killed', async () => {
  const server = createServer((_, response) => response.end('ok')).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const { retake, folder } = await folderWith({
    'agent.mjs': `
const first = await (await fetch(process.argv[2])).text()
await fetch(process.argv[2] + first)
`,
  })
  await writeFile(join(folder, 'other.txt'), 'other')
  expect((await retake(['record', 'agent.mjs', url])).code).toBe(0)
  const fork = ['fork', 'last', '--at', '1', '--response', 'other.txt', '--tail', 'offline']
  const forked = await retake(fork)
  expect(forked.code, forked.stderr).toBe(3)
  const listed = await retake(['list'])
  expect(listed.stdout).toMatch(
    / stopped .* an offline branch stops where its parent has no answer/,
  )
  expect(listed.stdout).not.toContain('killed')
  expect((await retake(['list', '--status', 'stopped'])).stdout).toContain(' stopped ')
  expect((await retake(['show', 'last:stopped'])).stdout).toContain('\nstopped: an offline branch')
  const resumed = await retake(['resume', 'last', '--in-doubt', 'retry'])
  expect(resumed.code, resumed.stderr).toBe(0)
  expect((await retake(['list', '-n', '1'])).stdout).toContain(' done ')
})

test('steps are counted alike when recording, listing, showing and blaming a run', async () => {
  const workspace = await makeWorkspace()
  onTestFinished(() => workspace.remove())
  const provider = await startProvider({ seed: 11, maxLatencyMs: 0 })
  onTestFinished(provider.close)
  await writeFile(join(workspace.folder, 'policy.txt'), 'Within 60 days.\n')
  // Its tool is not wrapped, so that step 1.1 is only in the conversation.
  const { stderr } = await workspace.record('policy.mjs', { provider })
  const [counts = '', steps, inferred] =
    /(\d+) steps, (\d+) inferred tool calls?(?= · )/.exec(stderr) ?? []
  expect(stderr).toMatch(/^recorded .* · \d+ steps, \d+ inferred tool calls? · /m)
  const shown = (await workspace.retake(['show', 'last'])).stdout
  expect(shown).toMatch(new RegExp(`^${counts} · \\d+ model calls · `, 'm'))
  expect(shown.match(/^ *\d+(?:\.\d+)? {2,}/gm)).toHaveLength(Number(steps) + Number(inferred))
  const listed = JSON.parse((await workspace.retake(['list', '--json'])).stdout) as object
  expect(listed).toMatchObject({ steps: Number(steps) })
  const blame = ['blame', 'last', '--expect', 'x', '--dry-run', '--json']
  const planned = await workspace.retake(blame, { env: { OPENAI_API_KEY: 'none' } })
  expect(planned.stderr).toContain(`${counts} to search · `)
  expect(JSON.parse(planned.stdout)).toMatchObject({
    estimate: { steps: Number(steps), inferred: Number(inferred) },
  })
})

test('an empty list says on stderr how to begin', async () => {
  const { retake } = await folderWith({})
  const { stdout, stderr, code } = await retake(['list'])
  expect({ stdout, code }).toEqual({ stdout: '', code: 0 })
  expect(stderr).toContain('retake record <file>')
})

test('a damaged tape does not hide the others', async () => {
  soakOnly()
  const { retake, folder } = await folderWith({ 'agent.mjs': smallAgent })
  await retake(['record', 'agent.mjs'])
  await writeFile(join(folder, '.retake', 'runs', '20990101-000000-abcd.tape'), 'no tape')
  const { stdout } = await retake(['list'])
  expect(stdout).toMatch(/^20990101-000000-abcd +damaged +TAPE_NOT_A_TAPE$/m)
  expect(stdout).toMatch(/ done .* agent · done$/m)
})

describe('a run with steps', () => {
  let provider: Provider
  let workspace: Workspace
  beforeAll(async () => {
    provider = await startProvider({ seed: 7 })
    workspace = await makeWorkspace()
    await workspace.record('openai-chat.mjs', { provider })
  })
  afterAll(async () => {
    await provider.close()
    await workspace.remove()
  })

  test('show lists the steps with kind, time and title, none of them cut in a pipe', async () => {
    const { stdout } = await workspace.retake(['show', 'last'])
    expect(stdout).toMatch(/^\d{8}-\d{6}-[a-z]{4} {2}openai-chat\n/)
    expect(stdout).toMatch(/^done · .* · Node \d+\.\d+\.\d+$/m)
    expect(stdout).toMatch(
      /^\d+ steps, 1 inferred tool call · \d+ model calls · \d+ tool calls? · \d+ events\n\d+ tokens in, \d+ out in 11 of 12 calls · cost unknown$/m,
    )
    expect(stdout).toMatch(/^1 +\d+(\.\d+)? m?s +.* model .*/m)
    expect(stdout).not.toMatch(/^\d.*…$/m)
  })

  test('show --step shows the conversation', async () => {
    const { stdout } = await workspace.retake(['show', 'last', '--step', '1'])
    expect(stdout).toMatch(/^step 1 {2}.+\n/)
    expect(stdout).toMatch(/^(user|system)\n {2}\S/m)
    expect(stdout).toMatch(/^assistant\n {2}\S/m)
    expect(stdout).toContain('openai-chat.mjs:')
  })

  test('show --json carries what the table shows', async () => {
    const { stdout } = await workspace.retake(['show', 'last', '--json'])
    const run = JSON.parse(stdout) as { status: string; steps: { kind: string }[] }
    expect(run.status).toBe('done')
    expect(run.steps[0]).toMatchObject({ number: 1, kind: 'model', provider: 'openai' })
    const step = await workspace.retake(['show', 'last', '--step', '1', '--json'])
    expect(JSON.parse(step.stdout)).toMatchObject({
      exchange: { request: { method: 'POST', body: { messages: expect.any(Array) } } },
    })
  })

  test('export --jsonl writes one event a line, bodies readable', async () => {
    const { stdout } = await workspace.retake(['export', 'last', '--jsonl'])
    const events = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(events[0]).toMatchObject({ seq: 0, type: 'run', name: 'openai-chat' })
    expect(events.at(-1)).toMatchObject({ type: 'seal', count: events.length - 1 })
    expect(events.find(({ type }) => type === 'request')).toMatchObject({
      body: { messages: expect.any(Array) },
    })
  })

  test('a run is named by id, by a prefix of its id, or by path', async () => {
    const { stdout } = await workspace.retake(['list', '--json'])
    const { id, path } = JSON.parse(stdout) as { id: string; path: string }
    for (const name of [id, id.slice(0, 12), path]) {
      expect((await workspace.retake(['show', name])).stdout).toContain(id)
    }
  })
})

test('show lists processes that were recorded, and opens them by id', async () => {
  const { retake } = await folderWith({
    'agent.mjs': `import { execFileSync } from 'node:child_process'
execFileSync(process.execPath, ['child.mjs'])`,
    'child.mjs': `console.log('from the child', Date.now())`,
  })
  await retake(['record', '--children', 'agent.mjs'])
  const { stdout } = await retake(['show', 'last'])
  const [, id = ''] = /^ {2}step 1 {2}retake show (\S+) {2}node child.mjs$/m.exec(stdout) ?? []
  const child = await retake(['show', id])
  expect(child.stdout).toMatch(/^started by run \S+, event \d+$/m)
  expect(child.stdout).toContain('from the child')
  expect((await retake(['export', id, '--jsonl'])).stdout).toContain('"type":"seal"')
  const { stderr } = await retake(['show', `${id}-999`])
  expect(stderr).toContain('UNKNOWN_RUN')
})

test('control characters are escaped', async () => {
  soakOnly()
  const { retake, folder } = await folderWith({})
  const library = new URL('../../packages/cli/dist/index.js', import.meta.url).href
  await writeFile(
    join(folder, 'agent.mjs'),
    `import { tool } from '${library}'
const shout = tool('shout', async () => 'clear \\u001B[2J the screen')
await shout({ name: '\\u001B]0;title\\u0007' })`,
  )
  await retake(['record', 'agent.mjs'])
  const list = await retake(['show', 'last'])
  const step = await retake(['show', 'last', '--step', '1'])
  expect(step.stdout).toContain('clear \\x1b[2J the screen')
  expect(list.stdout + step.stdout).not.toContain('\u001B')
})
