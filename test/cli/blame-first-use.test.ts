import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { FindingsFile } from '../../packages/lab/dist/blame/findings.js'
import { linkModules } from '../support/run-library.mjs'
import { run, type Workspace } from '../support/run-retake.mjs'
import { soakOnly } from '../support/soak.js'
import { folderWith } from './workspace.js'

/** A search is many processes: on a busy machine it takes its time. */
const PATIENT = { timeoutMs: 500_000 }

/**
 * A refund desk whose `get_order` always says 10 days, so that its model approves. With
 * `plain`, the tool is a function of the agent; otherwise it is wrapped.
 */
const desk = `
import { tool } from 'retake'
const getOrder = async ({ id }) => ({ id, days: 10, total: 249 })
const tools = { get_order: process.argv[2] === 'plain' ? getOrder : tool('get_order', getOrder) }
const messages = [{ role: 'user', content: 'May order 1182 be refunded?' }]
for (;;) {
  const response = await fetch(process.env.MODEL + '/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', messages }),
  })
  const { choices: [{ message }] } = await response.json()
  messages.push(message)
  if (message.tool_calls === undefined) {
    console.log(message.content)
    process.exitCode = message.content === 'DENIED' ? 0 : 3
    break
  }
  for (const { id, function: { name, arguments: args } } of message.tool_calls) {
    const content = JSON.stringify(await tools[name](JSON.parse(args)))
    messages.push({ role: 'tool', tool_call_id: id, content })
  }
}
`

/** Asks for the order, then decides by how old it is. */
async function startDeskModel(): Promise<string> {
  let calls = 0
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      const { messages } = JSON.parse(body) as { messages: { role: string; content: string }[] }
      const result = messages.find(({ role }) => role === 'tool')
      const called = { name: 'get_order', arguments: '{"id":1182}' }
      const message =
        result === undefined
          ? { tool_calls: [{ id: `call_${++calls}`, type: 'function', function: called }] }
          : {
              content:
                (JSON.parse(result.content) as { days: number }).days > 30 ? 'DENIED' : 'APPROVED',
            }
      const choices = [{ index: 0, message: { role: 'assistant', ...message } }]
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ object: 'chat.completion', model: 'm', choices }))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function recordDesk(...args: string[]): Promise<Workspace> {
  const env = { MODEL: await startDeskModel() }
  const workspace = await folderWith({ 'desk.mjs': desk })
  await linkModules(workspace.folder)
  const recorded = await workspace.retake(['record', 'desk.mjs', ...args], { env })
  expect(recorded.stdout).toBe('APPROVED\n')
  return workspace
}

test('an oracle is suggested by the exit code, an error, a text or another run, with the reason', async () => {
  const workspace = await folderWith({
    'agent.mjs': `
await (await fetch(process.env.SERVER)).text()
if (process.argv[2] === 'throw') throw new TypeError('no price')
console.log(process.env.SAYS)
process.exitCode = Number(process.argv[2] ?? 0)`,
  })
  const server = createServer((_, response) => response.end('x')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const env = { SERVER: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, SAYS: 'good' }
  const record = (says: string, ...args: string[]) =>
    workspace.retake(['record', 'agent.mjs', ...args], { env: { ...env, SAYS: says } })
  const suggested = async (...args: string[]) =>
    (await workspace.retake(['blame', 'last', '--dry-run', ...args], { env })).stderr

  await record('bad', '3')
  expect(await suggested()).toContain('oracle: exit:0, because the run ended with exit code 3')
  await record('bad', 'throw')
  expect(await suggested()).toContain('because the run ended with TypeError: no price')
  await record('good')
  expect(await suggested()).toContain('Missing option --oracle <check>.')
  await record('bad')
  expect(await suggested()).toMatch(
    /oracle: stdout:good, because run \S+ printed that; this run\s+printed "bad"/,
  )
  expect(await suggested('--expect', 'good')).not.toContain('because')

  // A fixed rerun is not judged by what the wrong run printed.
  await record('wrong', '0')
  const file = join(workspace.folder, 'agent.mjs')
  const source = await readFile(file, 'utf8')
  await writeFile(file, source.replace('process.env.SAYS', "'fixed'"))
  const rerun = await workspace.retake(['rerun', 'last'], { env })
  expect(rerun).toMatchObject({ stdout: 'fixed\n', stderr: expect.stringContaining('branch of') })
  expect(await suggested()).toContain('Missing option --oracle <check>.')
})

test.each([
  ['wrapped', '2'],
  ['plain', '1.1'],
])('one command finds the answer of a deterministic tool, if it is %s', async (how, label) => {
  soakOnly()
  const workspace = await recordDesk(how)
  const { stdout, stderr, code } = await workspace.retake(['blame', 'last', '--json'], PATIENT)
  expect(stderr).toContain('oracle: exit:0, because the run ended with exit code 3')
  const found = JSON.parse(stdout) as FindingsFile
  expect(found.findings.causes).toMatchObject([{ steps: [label] }])
  expect(found.findings.steps.find((step) => step.label === label)?.intervention).toBe('field')
  expect(found.steps.find((step) => step.label === label)).toMatchObject({
    tool: 'get_order',
    free: expect.stringContaining('days'),
  })
  // A value that was made up shows what the run depends on, not what was wrong.
  expect(found.failureClass).toBe('unknown')
  expect(found.causes[0]?.values[0]?.good[0]?.text).toMatch(/"days":\d{3}/)
  expect(code).toBe(3)
  const read = await workspace.retake(['blame', 'last'], PATIENT)
  expect(read.stdout).toMatch(/^The failure depends on step/)
})

test('a correct answer identifies a tool that is not wrapped, and blame() agrees with the command', async () => {
  soakOnly()
  const workspace = await recordDesk('plain')
  const program = `
import { blame } from 'retake'
const found = await blame('last', { oracle: 'exit:0', free: ['get_order=set:days=60'] })
console.log(JSON.stringify(found))`
  await writeFile(join(workspace.folder, 'find.mjs'), program)
  const said = await run(process.execPath, ['find.mjs'], workspace.folder, PATIENT)
  const found = JSON.parse(said.stdout) as FindingsFile
  expect(found).toMatchObject({
    failureClass: 'wrong data',
    reason: 'exit code 3',
    findings: { verdict: 'attributed', causes: [{ role: 'root', steps: ['1.1'] }] },
  })
  expect(found.causes[0]?.values).toMatchObject([
    { step: '1.1', bad: { text: expect.stringContaining('10') }, good: [{ tool: 'get_order' }] },
  ])
})
