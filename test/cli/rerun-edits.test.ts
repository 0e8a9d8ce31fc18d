import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isSoak } from '../support/soak.js'
import { type Branched, ForkScene, removeScenes } from '../support/forking.js'

afterAll(removeScenes)

const modules = fileURLToPath(new URL('../../node_modules', import.meta.url))

/**
 * An agent as people write them: a prompt file, ids and dates in its requests, a tool, and an
 * order that must not be placed twice. Steps: 1 model, 2 tool, 3 POST, 4 model, 5 model.
 */
const agent = `
import { readFileSync } from 'node:fs'
import OpenAI from 'openai'
import { tool } from 'retake'

const client = new OpenAI({ apiKey: 'none', baseURL: process.env.AGENT_BASE_URL + '/v1' })
const system = 'You are a clerk.'
const rules = readFileSync('rules.md', 'utf8')
const ticket = crypto.randomUUID()
const opened = new Date().toISOString()
const stock = tool('stock', async ({ item }) => ({ item, units: item.length }))
const said = []

async function ask(question) {
  const completion = await client.chat.completions.create({
    model: 'gpt-4o-mini',
    user: ticket,
    messages: [{ role: 'system', content: system }, { role: 'user', content: question + ' at ' + opened }],
  })
  said.push(completion.choices[0].message.content.slice(0, 12))
  return said.at(-1)
}

const first = await ask('Which item? ' + rules)
const { units } = await stock({ item: 'lamp' })
await fetch(process.env.AGENT_BASE_URL + '/v1/models', {
  method: 'POST',
  headers: { 'idempotency-key': ticket },
  body: JSON.stringify({ order: 'lamp', units }),
})
const second = await ask('Is it sold after ' + first + '?')
await ask('Summarise ' + second)
console.log(said.join(' '))
`

let scene: ForkScene

beforeAll(async () => {
  scene = await ForkScene.record('agent.mjs', {
    prepare: async (folder) => {
      await mkdir(join(folder, 'lib'))
      await symlink(modules, join(folder, 'node_modules'))
      await writeFile(join(folder, 'rules.md'), 'Returns within 30 days.')
      await writeFile(join(folder, 'agent.mjs'), agent)
    },
  })
  if (scene.recorded.code !== 0) throw new Error(scene.recorded.stderr)
})

interface Rerun extends Branched {
  /** How each step was answered. */
  readonly answers: string
}

/** Puts edited files in place of the recorded ones, reruns, and puts them back. */
async function rerun(files: Record<string, string>, ...flags: string[]): Promise<Rerun> {
  const { folder } = scene.workspace
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  try {
    const made = await scene.branch(['rerun', scene.parent, '--json', ...flags])
    const json = made.stderr.split('\n').find((line) => line.startsWith('{')) ?? '{}'
    const { steps, identical } = JSON.parse(json) as {
      steps?: { answer: string; mayBeStale?: boolean }[]
      identical?: boolean
    }
    const answers = steps?.map(({ answer, mayBeStale }) => `${answer}${mayBeStale ? '?' : ''}`)
    return { ...made, answers: answers?.join(' ') ?? (identical ? 'identical' : made.stderr) }
  } finally {
    await writeFile(join(folder, 'agent.mjs'), agent)
    await writeFile(join(folder, 'rules.md'), 'Returns within 30 days.')
  }
}

const edited = (from: string, to: string): Record<string, string> => {
  expect(agent).toContain(from)
  return { 'agent.mjs': agent.replace(from, to) }
}

const ALL_SERVED = 'served served served served served'

/** Edits of the agent that change no request. */
const harmless: readonly [name: string, from: string, to: string][] = [
  ['a log line', 'const said = []', `const said = []\nconsole.log('start')`],
  ['a clock read', 'const said = []', 'const said = []\nconst t = Date.now()'],
  ['a random number', 'const said = []', 'const said = [], r = Math.random()'],
  ['a renamed variable', 'second', 'later'],
  [
    'a header of a newer SDK',
    `apiKey: 'none',`,
    `apiKey: 'none', defaultHeaders: { 'x-client-version': '7' },`,
  ],
]

const withEdits = (edits: readonly (readonly [string, string, string])[]): string =>
  edits.reduce((text, [, from, to]) => {
    expect(text).toContain(from)
    return text.replaceAll(from, to)
  }, agent)

describe('an edit that changes no request costs nothing', () => {
  // Before a merge, all edits together: the test fails if any of them sends a request.
  const cases = isSoak ? harmless.map((edit) => [edit]) : [harmless]
  test.each<[name: string, files: () => Record<string, string>]>([
    ...cases.map((edits): [string, () => Record<string, string>] => [
      edits.map(([name]) => name).join(', '),
      () => ({ 'agent.mjs': withEdits(edits) }),
    ]),
    [
      'a function that moved to another file',
      () => ({
        'lib/stock.mjs': `import { tool } from 'retake'\nexport const stock = tool('stock', async ({ item }) => ({ item, units: item.length }))`,
        'agent.mjs': agent
          .replace(/^const stock = .*$/m, '')
          .replace(`import { tool } from 'retake'`, `import { stock } from './lib/stock.mjs'`),
      }),
    ],
  ])('%s', async (_name, files) => {
    const made = await rerun(files())
    expect(made.sent).toEqual([])
    expect(made.code, made.stderr).toBe(0)
    expect([ALL_SERVED, 'identical']).toContain(made.answers)
    expect(made.stdout).toContain(scene.recorded.stdout)
  })
})

test('an id drawn before all others is new, and the requests that contain the recorded ids are pinned', async () => {
  const made = await rerun(
    edited('const ticket =', 'const trace = crypto.randomUUID()\nconst ticket ='),
  )
  expect(made.sent).toEqual([])
  expect(made.answers).toBe('pinned served pinned pinned pinned')
})

test('a changed prompt goes live; unchanged requests after it are served, and no order is placed twice', async () => {
  const made = await rerun(edited(`'Is it sold after '`, `'Was it ever sold after '`))
  expect(made.sent.map(({ body }) => body).join('')).toContain('Was it ever sold')
  expect(made.sent.every(({ body }) => !body.includes('order'))).toBe(true)
  expect(made.answers).toMatch(/^served served served live (live|served)$/)
})

test('a prompt file is read from disk, and its requests are live', async () => {
  const made = await rerun({ 'rules.md': 'Returns within 60 days.' })
  expect(made.stderr).toContain('rules.md changed since the recording; read from disk')
  expect(made.sent[0]?.body).toContain('60 days')
  expect(made.answers).toMatch(/^live served served/)
})

test('with --from, steps before it keep their answers under another system prompt', async () => {
  const files = edited('You are a clerk.', 'You are a friendly clerk.')
  const made = await rerun(files, '--from', '5')
  expect(made.answers).toBe('pinned served served pinned live')
  expect(made.sent.length).toBe(1)
  expect(made.sent[0]?.body).toContain('friendly')
  const ignored = await rerun(files, '--ignore', 'system')
  expect(ignored.answers).toBe('pinned served served pinned pinned')
  expect(ignored.sent).toEqual([])
})

test('with --live-after-change, everything after the first difference is live', async () => {
  const files = edited('const said = []', `const said = []\nconsole.log('start')`)
  const made = await rerun(files, '--live-after-change')
  expect(made.answers).toBe('live live live live live')
})

test('a served answer after another order on the same host may be stale', async () => {
  const made = await rerun(
    edited(
      `const second =`,
      `await fetch(process.env.AGENT_BASE_URL + '/v1/models', { method: 'POST', body: '{"order":"desk"}' })
await fetch(process.env.AGENT_BASE_URL + '/v1/models', { method: 'POST', headers: { 'idempotency-key': ticket }, body: JSON.stringify({ order: 'lamp', units }) })
const second =`,
    ),
  )
  expect(made.sent.filter(({ body }) => body.includes('desk')).length).toBe(1)
  expect(made.answers.split(' ').slice(0, 4)).toEqual(['served', 'served', 'served', 'live'])
})

test('a rerun can be replayed, whatever it was given', async () => {
  const made = await rerun(edited('const said = []', `const said = []\nconsole.log('start')`))
  const { folder } = scene.workspace
  await writeFile(
    join(folder, 'agent.mjs'),
    agent.replace('const said = []', `const said = []\nconsole.log('start')`),
  )
  const replayed = await scene.workspace.replay({ run: made.path ?? '' })
  await writeFile(join(folder, 'agent.mjs'), agent)
  expect({ stdout: replayed.stdout, code: replayed.code }, replayed.stderr).toEqual({
    stdout: made.stdout,
    code: 0,
  })
})

test('options that fit neither the run nor each other are refused', async () => {
  const cases: [flags: string[], text: string][] = [
    [['--from', '99'], 'NO_SUCH_STEP'],
    [['--ignore', 'user'], '--ignore user is unknown'],
    [['--from', '2', '--live-after-change'], '--from cannot be combined'],
  ]
  const commands = cases.map(([flags]) => ['rerun', scene.parent, ...flags])
  const refused = await scene.workspace.retakeEach(commands)
  refused.forEach(({ code, stderr }, index) => {
    expect(code).not.toBe(0)
    expect(stderr).toContain(cases[index]?.[1])
  })
})

test('requests that are sent in turn instead of together get their recorded answers', async () => {
  const together = `
const ask = async (item) => {
  const body = JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: item }] })
  const response = await fetch(process.env.AGENT_BASE_URL + '/v1/chat/completions', { method: 'POST', body })
  return (await response.json()).choices[0].message.content
}
const items = ['lamp', 'rug']
const said = await Promise.all(items.map(ask))
console.log(said.join(' '))
`
  const crowd = await ForkScene.record('crowd.mjs', {
    prepare: (folder) => writeFile(join(folder, 'crowd.mjs'), together),
  })
  const inTurn = together.replace(
    'const said = await Promise.all(items.map(ask))',
    'const said = []\nfor (const item of items) said.push(await ask(item))',
  )
  await writeFile(join(crowd.workspace.folder, 'crowd.mjs'), inTurn)
  const { code, stdout } = await crowd.branch(['rerun', crowd.parent])
  expect({ code, stdout }).toEqual({ code: 0, stdout: crowd.recorded.stdout })
})
