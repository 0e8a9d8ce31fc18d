import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startModelServer } from '@retake/engine/testing'
import { checkAnswer } from '@retake/tape'
import type { Step, Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { planInterventions } from '../../packages/lab/dist/blame/interventions.js'
import type { Interventions } from '../../packages/lab/dist/blame/interventions.js'
import {
  processOf,
  searchedSteps,
  type TreeStep,
} from '../../packages/lab/dist/blame/process-tree.js'
import { LiveTools } from '../../packages/lab/dist/blame/effects.js'
import { callKeyOf, Siblings } from '../../packages/lab/dist/blame/siblings.js'
import { wasRateLimited } from '../../packages/lab/dist/blame/fork-run.js'
import { RunStore } from '../../packages/runner/dist/runs/run-store.js'
import { linkModules } from '../support/run-library.mjs'
import { makeWorkspace } from '../support/run-retake.mjs'
import { folderWith, tapesOf } from './workspace.js'

/** Asks models in every wire format, then tools, a server and a process, and prints what it got. */
const agent = `
import { execFileSync } from 'node:child_process'
import { tool } from 'retake'
const post = async (url, body) => {
  const response = await fetch(process.env.MODEL + url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return response.text()
}
const messages = [{ role: 'user', content: 'Refund order 1182?' }]
const stream = true
await post('/v1/chat/completions', { model: 'm', messages })
await post('/v1/chat/completions', { model: 'm', messages, stream })
await post('/v1/responses', { model: 'm', input: messages })
await post('/v1/messages', { model: 'm', messages, max_tokens: 9, stream })
await post('/v1beta/models/m:generateContent', { contents: [{ role: 'user', parts: [{ text: 'x' }] }] })
await post('/model/m/converse', { messages: [{ role: 'user', content: [{ text: 'x' }] }] })
await post('/api/chat', { model: 'm', messages, stream: false })
await post('/v1/embeddings', { model: 'm', input: 'x' })
const search = tool('search_policy', async () => ({ title: 'Returns', days: 30, open: true, rows: [1, 2], at: new Date(0) }))
const note = tool('note', async () => 'noted')
const broken = tool('broken', async () => { throw new Error('down') })
await search()
await note()
await broken().catch(() => {})
await fetch(process.env.SHOP + '/order').then((response) => response.json())
execFileSync('echo', ['hi'])
console.log('done', process.argv[2])
`
const LABELS = {
  chat: '1',
  chatStream: '2',
  responses: '3',
  messages: '4',
  gemini: '5',
  converse: '6',
  ollama: '7',
  embeddings: '8',
  search: '9',
  note: '10',
  broken: '11',
  shop: '12',
  process: '13',
} as const

let tape: Tape
let sibling: Tape
let steps: TreeStep[]
let folder: string
let runs: RunStore

beforeAll(async () => {
  const workspace = await makeWorkspace()
  folder = workspace.folder
  await writeFile(join(folder, 'agent.mjs'), agent)
  await linkModules(folder)
  let answered = 0
  const usage = { input: 100, output: 20 }
  const model = await startModelServer({
    answer: () => ({ text: `answer ${++answered}`, toolCalls: [{ name: 'pay', args: {} }], usage }),
  })
  const shop = createServer((_, response) => {
    response.setHeader('content-type', 'application/json')
    response.end('{"status":"open","total":12}')
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => shop.once('listening', resolve))
  const env = { MODEL: model.url, SHOP: `http://127.0.0.1:${(shop.address() as AddressInfo).port}` }
  for (const name of ['one', 'two']) {
    const recorded = await workspace.retake(['record', 'agent.mjs', name], { env })
    if (recorded.code !== 0) throw new Error(recorded.stderr)
  }
  await model.stop()
  shop.close()
  const [first = '', second = ''] = await tapesOf(workspace)
  tape = openTape(first)
  sibling = openTape(second)
  steps = searchedSteps(processOf(tape))
  runs = new RunStore(join(folder, '.retake', 'runs'))
  return workspace.remove
})

const plan = (...specs: string[]): Interventions =>
  planInterventions(tape, steps, specs, { folder, runs })

const payloadOf = (interventions: Interventions, label: string): unknown => {
  const answer = interventions.answers[label]
  return answer !== undefined && 'payload' in answer ? answer.payload : answer
}

const modelLabels = Object.values(LABELS).slice(0, 7)

test('by default, models and GET requests are live, and nothing with effects is', () => {
  const { answers, live, describe, warnings, liveTools } = plan()
  expect([answers, warnings, liveTools]).toEqual([{}, [], []])
  expect(live).toEqual([...modelLabels, LABELS.embeddings, LABELS.shop])
  expect(describe).toBe(
    'free steps: models live · tools as recorded · requests live · processes as recorded',
  )
})

test('tools and processes are live where --live-tools allows them', () => {
  const every = planInterventions(tape, steps, [], {
    folder,
    runs,
    liveTools: new LiveTools('all', []),
  })
  expect([every.live, every.liveTools]).toEqual([Object.values(LABELS), undefined])
  const liveTools = new LiveTools(['note', 'process'], [])
  const some = planInterventions(tape, steps, ['note=live'], { folder, runs, liveTools })
  expect(some.live).toEqual([...every.live.slice(0, 8), LABELS.note, LABELS.shop, LABELS.process])
  expect(() => plan('note=live')).toThrow('would really run note')
  expect(plan('tool=live').live).toEqual(plan().live)
})

test('the answer of another run to the same call is tried first', () => {
  const siblings = new Siblings(tape, runs)
  expect(siblings.tapes.map(({ run }) => run.id)).toEqual([sibling.run.id])
  const key = callKeyOf(tape, steps[8] as Step) ?? ''
  const payload = { title: 'Returns', days: 14 }
  const others = new Map([[key, [{ answer: { payload }, run: 'r1', passes: true }]]])
  const made = planInterventions(tape, steps, [], { folder, runs, others })
  expect(made.recordings).toEqual({ [key]: [{ payload }] })
  expect(made.ways[LABELS.search]).toEqual({ kind: 'sibling', how: 'as in run r1, which passed' })
  expect(made.ways[LABELS.note]).toEqual({ kind: 'pinned', how: 'as recorded' })
})

test.each([
  ['neutral', 'Nothing is known about this.'],
  ['nothing', ''],
])('models answer %s in the format of each API, without tool calls, at no cost', (how, text) => {
  const made = plan(`model=${how}`)
  for (const label of modelLabels) {
    const step = steps.find((each) => each.label === label)
    const payload = payloadOf(made, label)
    const wire = JSON.stringify(payload)
    expect([label, checkAnswer(step?.exchange()?.api ?? '', payload)]).toEqual([label, []])
    expect(wire).toContain(JSON.stringify(text))
    expect(wire).not.toMatch(/"pay"|answer \d|:(?:100|20|120)\b/)
  }
  expect(made.warnings).toEqual([
    `step 8 is not answered by ${how}: its API, embeddings, has no neutral answer`,
  ])
  expect(made.live).toEqual([LABELS.embeddings, LABELS.shop])
  expect(made.describe).toContain(`steps 1, 2, 3, 4, 5, 6, 7 ${how} · step 8 live · tools`)
})

test('tools and servers answer neutrally in the shape of their answers, without content', () => {
  const made = plan('all=neutral')
  expect(payloadOf(made, LABELS.search)).toEqual({
    title: '',
    days: null,
    open: null,
    rows: [],
    at: null,
  })
  expect(payloadOf(made, LABELS.note)).toBe('Nothing is known about this.')
  expect(payloadOf(made, LABELS.broken)).toBeNull()
  expect(payloadOf(made, LABELS.shop)).toEqual({ status: '', total: null })
  expect(payloadOf(made, LABELS.process)).toEqual({ stdout: '', stderr: '', exitCode: 0 })
})

test('tools and servers answer nothing, or fail', () => {
  const made = plan('tool=nothing', 'http=error', 'broken=error')
  expect(payloadOf(made, LABELS.search)).toEqual({})
  expect(payloadOf(made, LABELS.note)).toBe('')
  expect(made.answers[LABELS.shop]).toEqual({ error: 'The request failed.' })
  expect(made.answers[LABELS.broken]).toEqual({ error: 'broken failed.' })
})

test('the most specific rule for a step decides, and the last of equal ones', () => {
  const made = plan(
    '9=nothing',
    'search_policy=neutral',
    'all=neutral',
    'tool=error',
    '1=live',
    '1=nothing',
    '2=nothing',
    '2=live',
  )
  expect(payloadOf(made, LABELS.search)).toEqual({})
  expect(made.answers[LABELS.note]).toEqual({ error: 'note failed.' })
  expect(JSON.stringify(made.answers[LABELS.chat])).toContain('"content":""')
  expect(made.live).toContain(LABELS.chatStream)
  expect(made.describe).toContain('step 9 (search_policy) nothing · steps 10, 11 error')
})

test('given answers, changes and scripts are parsed', async () => {
  await writeFile(join(folder, 'other.json'), '{"title":"None","days":0}')
  await writeFile(
    join(folder, 'script.json'),
    JSON.stringify({
      10: { payload: 'lost' },
      11: { payload: { fine: true } },
      12: { error: 'refused' },
      1: 'nothing',
      2: 'live',
      13: { payload: 'bye' },
    }),
  )
  const made = plan('all=neutral', 'all=script:script.json', '9=@other.json', '3=json:"No refund."')
  expect(payloadOf(made, LABELS.search)).toEqual({ title: 'None', days: 0 })
  expect(payloadOf(made, LABELS.note)).toBe('lost')
  expect(payloadOf(made, LABELS.broken)).toEqual({ fine: true })
  expect(payloadOf(made, LABELS.process)).toEqual({ stdout: 'bye', stderr: '', exitCode: 0 })
  expect(made.answers[LABELS.shop]).toEqual({ error: 'refused' })
  expect(JSON.stringify(payloadOf(made, LABELS.responses))).toContain('"text":"No refund."')
  expect(made.live).toEqual([LABELS.chatStream, LABELS.embeddings])
  // What the script does not name stays as it was.
  expect(JSON.stringify(payloadOf(made, LABELS.gemini))).toContain('Nothing is known')

  const changed = plan('9=set:days=14', '9=set:rows[0]=7', '4=set:content.0.text="No."')
  expect(payloadOf(changed, LABELS.search)).toMatchObject({
    title: 'Returns',
    days: 14,
    rows: [7, 2],
  })
  expect(JSON.stringify(payloadOf(changed, LABELS.messages))).toContain('"text":"No."')
})

test('a sibling run supplies tool answers that differ, and no model answers', () => {
  const made = plan(`all=run:${sibling.run.id}`)
  expect(Object.keys(made.answers)).toEqual([LABELS.process])
  expect(made.live).toEqual(plan().live)
  expect(made.warnings).toEqual([
    `--free all=run:${sibling.run.id} answers no model: one that repeats another run would hide the cause`,
    ...[9, 10, 11, 12].map(
      (label) =>
        `step ${label} is not answered by run:${sibling.run.id}: run ${sibling.run.id} has the same there`,
    ),
    'step 13 is answered as it was recorded: freeing it changes nothing',
  ])
  expect(() => plan(`model=run:${sibling.run.id}`)).toThrow('would hide the cause')
  const one = plan(`2=run:${sibling.run.id}`)
  expect(JSON.stringify(payloadOf(one, LABELS.chatStream))).toContain('answer 9')
})

test('an answer equal to the recorded one changes nothing and is reported', () => {
  const made = plan('10=json:"noted"', '9=set:days=30')
  expect(made.warnings).toEqual([
    'step 9 is answered as it was recorded: freeing it changes nothing',
    'step 10 is answered as it was recorded: freeing it changes nothing',
  ])
})

test('a simulator is named with the hash of its text', async () => {
  await writeFile(join(folder, 'simulator.mjs'), 'export default () => undefined')
  const make = () =>
    planInterventions(tape, steps, ['9=nothing'], { folder, runs, simulator: 'simulator.mjs' })
  const made = make()
  expect(made.simulator).toBe(join(folder, 'simulator.mjs'))
  expect(made.describe).toContain('models by simulator.mjs · step 9 (search_policy) nothing')
  await writeFile(join(folder, 'simulator.mjs'), 'export default () => ({ error: "x" })')
  expect(make().simulatorKey).not.toBe(made.simulatorKey)
  expect(() => planInterventions(tape, steps, [], { folder, runs, simulator: 'gone.mjs' })).toThrow(
    'gone.mjs cannot be read',
  )
})

test.each([
  ['x', 'cannot be understood'],
  ['=live', 'cannot be understood'],
  ['9=', 'cannot be understood'],
  ['9=sometimes', '"sometimes" is not one of live, neutral'],
  ['9=json:{a}', 'is not JSON'],
  ['9=@gone.json', 'gone.json cannot be read'],
  ['9=set:days', 'is not a path'],
  ['serch_policy=live', 'Did you mean search_policy?'],
  ['mcp=live', 'no step of that kind'],
  ['77=live', 'are 1, 2, 3'],
  ['9=set:price=3', 'does not fit step 9'],
  ['1=json:{"choices":[]}', 'choices is empty'],
  ['8=neutral', 'embeddings, has no neutral answer'],
  ['13=json:3', 'stdout, stderr, exitCode'],
  ['10=run:gone', 'There is no run "gone"'],
  ['all=script:agent.mjs', 'is not JSON'],
])('--free %s is refused: %s', (spec, why) => {
  expect(() => plan(spec)).toThrow(why)
})

// ── providers that turn a fork away ──────────────────────────────────────────

test('a run that ended with a refusal is distinguished from one that was answered in the end', async () => {
  const script: (number | { readonly status: number; readonly headers: object })[] = []
  const server = createServer((_, response) => {
    const next = script.shift() ?? 200
    const { status, headers } = typeof next === 'number' ? { status: next, headers: {} } : next
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end('{}')
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => void server.close())
  const workspace = await folderWith({
    'asks.mjs': `
for (const place of process.argv.slice(2)) await fetch(process.env.SERVER + place).then((r) => r.text())`,
  })
  const env = { SERVER: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
  const record = async (answers: typeof script, ...places: string[]): Promise<Tape> => {
    script.push(...answers)
    await workspace.retake(['record', 'asks.mjs', ...places], { env })
    return openTape((await tapesOf(workspace)).at(-1) ?? '')
  }
  const after = (seconds: number) => ({ status: 429, headers: { 'retry-after': `${seconds}` } })
  const fine = await record([200], '/a')
  const answered = await record([429, 503, 200], '/a?x=1', '/a?x=2', '/a')
  const away = await record(
    [200, after(7), { status: 529, headers: { 'retry-after-ms': '90' } }],
    '/a',
    '/b',
    '/c',
  )
  const silent = await record([503], '/a')
  expect(wasRateLimited(fine, fine)).toBeUndefined()
  expect(wasRateLimited(answered, fine)).toBeUndefined()
  expect(wasRateLimited(away, fine)).toEqual({ retryAfterMs: 7000 })
  expect(wasRateLimited(silent, fine)).toEqual({})
  // It was so when the run was recorded: that is how this server is.
  expect(wasRateLimited(silent, silent)).toBeUndefined()
})
