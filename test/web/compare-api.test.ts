import { openTape } from '@retake/tape/node'
import type { RunComparison } from '@retake/tape'
import type { BranchNodeView, Editable, Job, RunHead } from '@retake/web'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { ForkScene, removeScenes } from '../support/forking.js'
import { mcpFolder } from '../support/mcp-folder.js'
import { AskApi } from './support/ask-api.js'
import { makeDemoRuns, openSharedDemo } from './support/demo-runs.js'
import { runsOf } from './support/desk.js'
import { startUi } from './support/start-ui.js'
import { soakOnly } from '../support/soak.js'

afterAll(removeScenes)

/** A run, and a fork of it that came to the opposite. */
const shared = await openSharedDemo()
const { run, branch: fork, step: policy } = shared.demo

const open = async (folder?: string): Promise<AskApi> =>
  new AskApi(folder === undefined ? shared.ui : await startUi(folder))

test('a run and its fork are compared side by side: each step, with differences as text', async () => {
  const api = await open()
  const compared = await api.get<RunComparison>(`/compare?a=${run}&b=${fork}`)
  expect(compared).toMatchObject({
    a: { id: run, status: 'done', steps: 7 },
    b: { id: fork, status: 'done', steps: 7, branch: { kind: 'fork', parent: run } },
    equal: false,
    descent: expect.stringMatching(/^b branched off a after \d+ events$/),
    sameUntil: String(Number(policy) - 1),
    first: `step ${policy}, result.text`,
    outcome: [],
  })
  const { rows, totals, counts, console: printed } = compared
  const labels = ['1', '2', '3', '4', '5', '6', '7']
  expect(rows.flatMap(({ a = [] }) => a)).toEqual(labels)
  expect(rows.flatMap(({ b = [] }) => b).toSorted()).toEqual(labels)
  expect(counts.same).toBe(rows.filter(({ verdict }) => verdict === 'same').length)
  expect(rows.find(({ a }) => a === policy)).toMatchObject({
    b: policy,
    kind: 'tool',
    verdict: 'changed',
    differences: [
      {
        what: 'result.text',
        area: 'tools',
        a: '"Customers may return an item within 60 days of delivery."',
        b: '"Customers may return an item within 30 days of delivery."',
      },
    ],
  })
  expect(rows.find(({ title }) => title.includes('APPROVED'))).toMatchObject({
    verdict: 'changed',
    titleB: expect.stringContaining('DENIED'),
  })
  expect(totals.find(({ name }) => name === 'steps')).toEqual({ name: 'steps', a: '7', b: '7' })
  expect(totals.at(-1)).toEqual({ name: 'exit', a: '0', b: '0' })
  expect(printed).toContainEqual({
    stream: 'stdout',
    a: expect.objectContaining({ text: expect.stringContaining('APPROVED') }),
    b: expect.objectContaining({ text: expect.stringContaining('DENIED') }),
  })
})

test('a run equals itself, and steps of only one run are listed where they happened', async () => {
  const api = await open()
  const same = await api.get<RunComparison>(`/compare?a=${run}&b=${run}`)
  expect(same).toMatchObject({ equal: true, sameUntil: '7', counts: { same: 7, changed: 0 } })
  expect(same.rows).toHaveLength(7)

  const scene = await ForkScene.record('fork/conversation.mjs', { args: ['openai-chat', '2'] })
  const shorter = runsOf(scene.workspace)[0] ?? ''
  await scene.workspace.record('fork/conversation.mjs', {
    provider: scene.provider,
    args: ['openai-chat', '3'],
  })
  const longer = runsOf(scene.workspace).find((id) => id !== shorter) ?? ''
  const others = await open(scene.workspace.folder)
  const { rows, counts } = await others.get<RunComparison>(`/compare?a=${shorter}&b=${longer}`)
  expect(rows.flatMap(({ a }) => a ?? [])).toEqual(['1', '2', '3', '4'])
  expect(rows.flatMap(({ b }) => b ?? [])).toEqual(['1', '2', '3', '4', '5', '6'])
  expect(counts.onlyB).toBe(2)
})

test('runs that cannot be compared are refused', async () => {
  const api = await open()
  const refused = async (path: string): Promise<string> =>
    (await api.send<{ error: { code: string } }>('GET', path)).json.error.code
  expect([
    await refused(`/compare?a=${run}`),
    await refused(`/compare?a=${run}&b=none`),
    await refused(`/compare?a=${run}&a=${fork}&b=${fork}`),
    await refused(`/runs/none/branches`),
    await refused(`/runs/${encodeURIComponent('../../x')}/branches`),
  ]).toEqual([
    'VIEWER_BAD_REQUEST',
    'UNKNOWN_RUN',
    'VIEWER_BAD_REQUEST',
    'UNKNOWN_RUN',
    'UNKNOWN_RUN',
  ])
})

test('in a fork of the demo started by a page, the tool result decides the refund', async () => {
  soakOnly()
  const demo = await makeDemoRuns()
  onTestFinished(() => demo.remove())
  await demo.startModel()
  const api = await open(demo.folder)
  const { answer } = await api.get<Editable>(`/runs/${demo.run}/steps/${demo.step}/editable`)
  const edited = (answer?.text ?? '').replace('60 days', '45 days')
  const job = await api.post<Job>(`/runs/${demo.run}/fork`, { at: demo.step, response: edited })
  expect(await api.job(job.id)).toMatchObject({ state: 'done', exit: { code: 0 } })
  const { branches } = await api.get<BranchNodeView>(`/runs/${demo.run}/branches`)
  expect(branches.map(({ edits, lastLine }) => [edits, lastLine])).toEqual([
    [[expect.stringContaining('30 days')], expect.stringContaining('DENIED')],
    [[expect.stringContaining('45 days')], expect.stringContaining('APPROVED')],
  ])
})

test('a streamed answer is edited as a whole and streamed again', async () => {
  soakOnly()
  const scene = await ForkScene.record('fork/conversation.mjs', {
    args: ['openai-chat-stream', '1'],
  })
  const [parent = ''] = runsOf(scene.workspace)
  const api = await open(scene.workspace.folder)
  const { answer } = await api.get<Editable>(`/runs/${parent}/steps/1/editable`)
  expect(answer).toMatchObject({ form: 'json', kind: 'json', status: 200, streamed: true })
  const data = JSON.parse(answer?.text ?? '') as { choices: [{ message: { content: string } }] }
  data.choices[0].message.content = 'Put together by hand.'
  const { id, run: branch } = await api.post<Job>(`/runs/${parent}/fork`, {
    at: '1',
    response: JSON.stringify(data),
  })
  expect(await api.job(id)).toMatchObject({ state: 'done', facts: { served: 1 } })
  const { head } = await api.get<{ head: RunHead }>(`/runs/${branch}`)
  expect(head.branch?.edits).toEqual([
    { target: 'answer', path: 'choices.0.message.content', value: 'Put together by hand.' },
  ])
  const printed = await api.get<{ text: string }[]>(`/runs/${branch}/console`)
  expect(printed.map(({ text }) => text).join('')).toContain('model 1: Put together by hand.\n')
})

test('answers of an MCP server can be edited; requests on its pipes cannot', async () => {
  soakOnly()
  const workspace = await mcpFolder()
  try {
    await workspace.retake(['record', 'agent.mjs', 'v1', 'server-v1.mjs'])
    const [id = ''] = runsOf(workspace)
    const api = await open(workspace.folder)
    const steps = await Promise.all(
      ['1', '2', '3', '4'].map((step) => api.get<Editable>(`/runs/${id}/steps/${step}/editable`)),
    )
    const called = steps.find(({ answer }) => answer?.text.includes('"content"'))
    expect(called?.answer).toMatchObject({ form: 'json', kind: 'json' })
    expect(called?.whyNoRequest).toMatch(/over the pipes of a child process/)
    expect(steps.some(({ whyNoAnswer }) => /child process/.test(whyNoAnswer ?? ''))).toBe(true)
  } finally {
    await workspace.remove()
  }
})

test('a random value is edited by its event', async () => {
  soakOnly()
  const scene = await ForkScene.record('fork/conversation.mjs', { args: ['openai-chat', '1'] })
  const [parent = ''] = runsOf(scene.workspace)
  const asked = scene.provider.requests[0]?.body ?? ''
  const draw = [...openTape(scene.parent).events()].find(
    (event) => event.type === 'draw' && asked.includes(`dice ${String(event.value)},`),
  )
  const api = await open(scene.workspace.folder)
  const editable = await api.get<Editable>(`/runs/${parent}/steps/e${draw?.seq}/editable`)
  expect(editable).toMatchObject({ answer: { form: 'json', kind: 'value' } })
  const { id } = await api.post<Job>(`/runs/${parent}/fork`, {
    at: `e${draw?.seq}`,
    response: '0.125',
  })
  expect(await api.job(id)).toMatchObject({ state: 'done' })
  expect(scene.provider.requests.at(-1)?.body).toContain('dice 0.125,')
})
