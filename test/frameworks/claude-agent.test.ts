import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startModelServer } from '@retake/engine/testing'
import type { ModelServer } from '@retake/engine/testing'
import { openTape, readRun, record, replay } from 'retake'
import { recordedClaude } from 'retake/claude-agent'

// The SDK itself, with its subprocess, is tested in newest/claude-agent.test.ts. Here another
// program takes the place of the subprocess: what matters is where its requests go.
const run = promisify(execFile)
const program = `
  const body = JSON.stringify({
    model: 'claude-sonnet-4-5',
    max_tokens: 100,
    messages: [{ role: 'user', content: process.argv[1] }],
  })
  const headers = {
    'content-type': 'application/json',
    'anthropic-version': '2023-06-01',
    'x-claude-code-session-id': 'session ' + process.argv[1],
  }
  fetch(process.env.ANTHROPIC_BASE_URL + '/v1/messages', { method: 'POST', headers, body })
    .then(async (answer) => console.log(answer.status, (await answer.json()).content?.[0].text))
`

let dir: string
let server: ModelServer
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'retake-claude-agent-'))
  server = await startModelServer({ answer: ({ messages }) => ({ text: messages[0]?.text }) })
})
afterAll(async () => {
  await server.stop()
  await rm(dir, { recursive: true, force: true })
})

async function ask(question: string, env: Record<string, string> = {}): Promise<string> {
  const options = recordedClaude({
    maxTurns: 1,
    env: { PATH: process.env['PATH'], ANTHROPIC_BASE_URL: server.url, ...env },
  })
  expect(options.maxTurns).toBe(1)
  const { stdout } = await run('node', ['-e', program, question], { env: options.env })
  return stdout.trim()
}
const marksOf = (tape: string) =>
  readRun(openTape(tape))
    .steps.filter(({ kind }) => kind === 'mark')
    .map(({ title }) => title)
const folderOf = (tape: string) => tape.replace(/\.tape$/, '.claude')

test('queries of a run share one tape beside it, which ends with the run', async () => {
  const agent = () => Promise.all([ask('one'), ask('two')])
  const recorded = await record({ name: 'both', dir }, agent)
  expect(recorded.output).toEqual(['200 one', '200 two'])
  const folder = folderOf(recorded.run.path)
  expect(await readdir(folder)).toEqual(['1.tape'])
  const tape = openTape(join(folder, '1.tape'))
  expect(tape.status).toBe('sealed')
  const places = readRun(tape).steps.map(({ within }) =>
    within.map(({ name, id }) => `${name} ${id}`).join(),
  )
  expect(places.toSorted()).toEqual(['claude session one', 'claude session two'])
  expect(marksOf(recorded.run.path)).toEqual([expect.stringContaining('.claude')])

  const asked = server.requests.length
  const { output, divergences } = await replay(recorded.run.path, agent)
  expect([output, divergences]).toEqual([recorded.output, []])
  expect(server.requests.length).toBe(asked)
  expect(await readdir(folder)).toEqual(['1.tape'])
})

test('two endpoints have two tapes', async () => {
  const other = await startModelServer({ answers: [{ text: 'from elsewhere' }] })
  const { run: recorded } = await record({ name: 'elsewhere', dir }, async () => {
    await ask('here')
    return ask('there', { ANTHROPIC_BASE_URL: `${other.url}/` })
  })
  await other.stop()
  expect((await readdir(folderOf(recorded.path))).toSorted()).toEqual(['1.tape', '2.tape'])
})

test('a failed upstream is recorded on the tape', async () => {
  const { run: recorded, output } = await record({ name: 'down', dir }, () =>
    ask('anyone', { ANTHROPIC_BASE_URL: 'http://127.0.0.1:9' }),
  )
  expect(output).toMatch(/^502/)
  const [step] = readRun(openTape(join(folderOf(recorded.path), '1.tape'))).steps
  expect(step?.state).toBe('failed')
})

test('another cloud is called directly, and a mark on the tape says so', async () => {
  const { run: recorded } = await record({ name: 'cloud', dir }, () =>
    ask('one', { CLAUDE_CODE_USE_BEDROCK: '1' }),
  )
  expect(existsSync(folderOf(recorded.path))).toBe(false)
  expect(marksOf(recorded.path)).toEqual([expect.stringContaining('CLAUDE_CODE_USE_BEDROCK')])
})

test('outside of runs the options are returned unchanged', () => {
  const options = { maxTurns: 2, env: {} }
  expect(recordedClaude(options)).toBe(options)
})
