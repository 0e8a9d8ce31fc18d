import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startModelServer } from '@retake/engine/testing'
import { openTape } from '@retake/tape/node'
import { expect, onTestFinished, test } from 'vitest'
import { run } from '../support/run-retake.mjs'
import { makeProject } from './runner-project.js'
import { cli } from './workspace.js'
import { soakOnly } from '../support/soak.js'
import { tapesOldestFirst } from '../support/tapes-oldest-first.js'

/** Prices of three articles, each asked of a model, then a sum; a file says which. */
const agent = `
import { readFileSync } from 'node:fs'
import OpenAI from 'openai'
const client = new OpenAI({ maxRetries: 0 })
const system = readFileSync('system.txt', 'utf8')
let seen = system
for (const article of ['lamp', 'desk', 'sofa', 'sum']) {
  const { choices } = await client.chat.completions.create({
    model: 'gpt-4o-mini',
    messages: [
      { role: 'system', content: 'You sell.' },
      { role: 'user', content: article + ' after ' + seen },
    ],
  })
  seen = choices[0].message.content
  console.log(article, seen)
}
`

/** The same through node:http, which is recorded below the level of requests. */
const httpAgent = `
import { request } from 'node:http'
const ask = (text) => new Promise((resolve) => {
  const { hostname, port, pathname } = new URL(process.env.OPENAI_BASE_URL + '/chat/completions')
  const headers = { 'content-type': 'application/json' }
  const sent = request({ hostname, port, path: pathname, method: 'POST', headers }, (answer) => {
    let body = ''
    answer.on('data', (chunk) => (body += chunk))
    answer.on('end', () => resolve(JSON.parse(body).choices[0].message.content))
  })
  sent.end(JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: text }] }))
})
const first = await ask('one')
console.log(first, await ask('two after ' + first))
`

async function recorded(source: string) {
  let number = 0
  const server = await startModelServer({
    answer: ({ messages, body }) => ({
      text: `${String(body['model'])}/${messages[0]?.text}/${++number}`,
    }),
  })
  onTestFinished(() => server.stop())
  const folder = await makeProject({ 'agent.mjs': source, 'system.txt': 'start' })
  const retake = async (...args: string[]) => {
    const before = server.requests.length
    const finished = await run(process.execPath, [cli, ...args], folder, { env: server.env })
    return { ...finished, sent: server.requests.slice(before).map(({ body }) => body) }
  }
  const made = await retake('record', 'agent.mjs')
  expect(made.code, made.stderr).toBe(0)
  const tapes = () => tapesOldestFirst(join(folder, '.retake/runs'))
  return { folder, retake, tapes, server }
}

test('--every-request changes all live requests of a branch, and the branch replays', async () => {
  const { folder, retake } = await recorded(agent)
  await writeFile(join(folder, 'system.md'), 'Be "brief".\n')
  const change = ['model="gpt-5-mini"', 'messages.0.content=@system.md']
  const forked = await retake(
    'fork',
    'last',
    '--at',
    '2',
    ...change.flatMap((each) => ['--every-request', each]),
  )
  expect(forked.code, forked.stderr).toBe(0)
  expect(forked.sent).toHaveLength(3)
  for (const body of forked.sent)
    expect(body).toMatchObject({
      model: 'gpt-5-mini',
      messages: [{ role: 'system', content: 'Be "brief".\n' }, { role: 'user' }],
    })
  expect(forked.stdout).toContain('lamp gpt-4o-mini/You sell./1\ndesk gpt-5-mini/Be "brief".\n/')
  expect(forked.stderr).toContain('changed  every request model = "gpt-5-mini"')
  const shown = await retake('show', 'last', '--step', '3')
  expect(shown.stdout).toContain('changed every request model = "gpt-5-mini"')
  const replayed = await retake('replay', 'last')
  expect(replayed).toMatchObject({ code: 0, stdout: forked.stdout, sent: [] })
})

test('--every-request works over node:http, and says when no request has the path', async () => {
  const { retake, tapes } = await recorded(httpAgent)
  const [parent = ''] = tapes()
  const forked = await retake('fork', parent, '--at', '1', '--every-request', 'model="other"')
  expect(forked.code, forked.stderr).toBe(0)
  expect(forked.sent.map(({ model }) => model)).toEqual(['other', 'other'])
  const missed = await retake('fork', parent, '--at', '2', '--every-request', 'system="x"')
  expect(missed.code).toBe(3)
  expect(missed.stderr).toContain('--every-request changed 0 of 1 live request')
  const offline = await retake(
    'fork',
    parent,
    '--at',
    '1',
    '--tail',
    'offline',
    '--every-request',
    'model="x"',
  )
  expect(offline.code).toBe(1)
  expect(offline.stderr).toContain('With `--tail offline`, none is sent.')
})

test('several steps are changed in one fork, each when the branch reaches it', async () => {
  const { retake, tapes } = await recorded(agent)
  const answer = (text: string) => ['--set', `choices.0.message.content="${text}"`]
  const forked = await retake(
    'fork',
    'last',
    '--at',
    '1',
    ...answer('LAMP'),
    '--at',
    '3',
    ...answer('SOFA'),
  )
  expect(forked.code, forked.stderr).toBe(0)
  expect(forked.stdout).toMatch(/^lamp LAMP\ndesk .+\nsofa SOFA\nsum .+\n$/)
  expect(forked.sent).toHaveLength(2)
  expect(JSON.stringify(forked.sent[1])).toContain('sum after SOFA')
  expect(forked.stderr).toContain('changed  step 3 answer choices.0.message.content = "SOFA"')
  expect(forked.stderr).toMatch(/1 edited \(saved .+\) · 2 live/)
  expect(forked.stderr).toMatch(/3 edited \(saved\s.+\) · 4 live/)
  expect(forked.stderr).toContain('paid     2 requests')
  const branch = openTape(tapes().at(-1) ?? '')
  expect(branch.details.branch?.edits.map(({ at }) => at)).toEqual(['1', '3'])
  const replayed = await retake('replay', 'last')
  expect(replayed).toMatchObject({ code: 0, stdout: forked.stdout, sent: [] })

  const [parent = ''] = tapes()
  const request = ['--request', 'model="m2"']
  const mixed = await retake(
    'fork',
    parent,
    '--at',
    '2',
    ...answer('DESK'),
    '--at',
    '4',
    ...request,
  )
  expect(mixed.sent.map(({ model }) => model)).toEqual(['gpt-4o-mini', 'm2'])
  const twice = await retake(
    'fork',
    parent,
    '--at',
    '2',
    ...answer('a'),
    '--at',
    '2',
    ...answer('b'),
  )
  expect(twice.stderr).toContain('It is named twice.')
  const none = await retake('fork', parent, '--at', '1', ...answer('a'), '--at', '2')
  expect(none.stderr).toContain('needs one at each step')
  const unknown = await retake(
    'fork',
    parent,
    '--at',
    '1',
    ...answer('a'),
    '--at',
    '99',
    ...answer('b'),
  )
  expect(unknown.stderr).toContain('NO_SUCH_STEP')
})

test('--set of a value in a tool result that a model step sent says how to change it', async () => {
  const server = await startModelServer({
    answers: [
      { toolCalls: [{ name: 'price', args: {}, id: 'call_1' }] },
      { text: 'It is 3.' },
      { toolCalls: [{ name: 'price', args: {}, id: 'call_1' }] },
      { text: 'It is 3.' },
      { text: 'Sure.' },
    ],
  })
  onTestFinished(() => server.stop())
  const folder = await makeProject({
    'agent.mjs': `
import OpenAI from 'openai'
const messages = [{ role: 'user', content: 'What is the price?' }]
const create = () => new OpenAI().chat.completions.create({ model: 'gpt-4o-mini', messages })
messages.push((await create()).choices[0].message)
messages.push({ role: 'tool', tool_call_id: 'call_1', content: JSON.stringify({ price: 3 }) })
const { message } = (await create()).choices[0]
console.log(message.content)
if (process.env.ASKS_AGAIN) {
  messages.push(message, { role: 'user', content: 'Sure?' })
  await create()
}
`,
  })
  const retake = (...args: string[]) =>
    run(process.execPath, [cli, ...args], folder, { env: server.env })
  expect((await retake('record', 'agent.mjs')).stdout).toBe('It is 3.\n')
  const forked = await retake('fork', 'last', '--at', '2', '--set', 'price=4')
  expect(forked.code).toBe(1)
  expect(forked.stderr).toContain('STEP_NOT_RECORDED')
  expect(forked.stderr).toContain(`--at 2 --request 'messages.2.content="…"'`)

  // A conversation that goes on repeats the result, so it must be changed there too.
  const longer = await run(process.execPath, [cli, 'record', 'agent.mjs'], folder, {
    env: { ...server.env, ASKS_AGAIN: '1' },
  })
  expect(longer.code).toBe(0)
  const repeated = await retake('fork', 'last', '--at', '2', '--set', 'price=4')
  expect(repeated.stderr).toContain(`--at 2 --every-request 'messages.2.content="…"'`)
})

test('a change at a step that the branch does not reach is reported', async () => {
  soakOnly()
  const { retake, folder } = await recorded(agent)
  await writeFile(
    join(folder, 'agent.mjs'),
    agent.replace(
      'console.log(article, seen)',
      "console.log(article, seen)\n  if (seen === 'STOP') break",
    ),
  )
  const set = (text: string) => ['--set', `choices.0.message.content="${text}"`]
  const forked = await retake('fork', 'last', '--at', '1', ...set('STOP'), '--at', '3', ...set('x'))
  expect(forked.stderr).toContain('not used the change at step 3')
  expect(forked.code).toBe(3)
})

test('a file that the run read can be changed, as text or by another file', async () => {
  const { retake, folder, tapes } = await recorded(agent)
  const [parent = ''] = tapes()
  const read = [...openTape(parent).events()].find(({ type }) => type === 'call')?.seq ?? 0
  const forked = await retake('fork', parent, '--at', `e${read}`, '--set', 'value="edited"')
  expect(forked.code, forked.stderr).toBe(0)
  expect(JSON.stringify(forked.sent[0])).toContain('lamp after edited')
  await writeFile(join(folder, 'other.txt'), 'from a file')
  const replaced = await retake('fork', parent, '--at', `e${read + 1}`, '--response', 'other.txt')
  expect(JSON.stringify(replaced.sent[0])).toContain('lamp after from a file')
  const wrong = await retake('fork', parent, '--at', `e${read}`, '--set', 'value=3')
  expect(wrong.stderr).toContain('the content of a file is text')
})

test('another entry file, and a program that something else starts, replay the run', async () => {
  const { retake, folder, server } = await recorded(agent)
  await writeFile(join(folder, 'moved.mjs'), `// A comment.\n${agent}`)
  const moved = await retake('replay', 'last', '--entry', 'moved.mjs')
  expect(moved, moved.stderr).toMatchObject({ code: 0, sent: [] })
  await server.stop()
  const preload = new URL('../../packages/cli/bundle/preload.js', import.meta.url).href
  const start = (file: string) =>
    run('sh', ['-c', `node --import ${preload} ${file}`], folder, {
      env: { RETAKE_REPLAY: 'last' },
    })
  const replayed = await start('agent.mjs')
  expect(replayed.stdout).toContain('sum gpt-4o-mini')
  expect(replayed.stderr).toContain('identical')
  expect(replayed.code).toBe(0)
  const other = await start('moved.mjs')
  expect(other).toMatchObject({ code: 1, stdout: '' })
  expect(other.stderr).toContain('REPLAYS_ANOTHER_PROGRAM')
})
