import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { BranchNodeView, Editable, Job, RunHead } from '@retake/web'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AskApi, hasEnded, processesNaming, type Refused } from './support/ask-api.js'
import { DESK, recordDesk, runsOf, type Desk } from './support/desk.js'
import { startUi } from './support/start-ui.js'
import { soakOnly } from '../support/soak.js'

let desk: Desk
beforeAll(async () => {
  desk = await recordDesk()
})
afterAll(() => desk.remove())

const open = async (env: Record<string, string> = {}): Promise<AskApi> =>
  new AskApi(await startUi(desk.workspace.folder, { env }))

/** Lets the agent ask in other words meanwhile. */
async function withOtherPrompt<T>(act: () => Promise<T>): Promise<T> {
  await writeFile(desk.agent, DESK.replace("'Order '", "'Item '"))
  try {
    return await act()
  } finally {
    await writeFile(desk.agent, DESK)
  }
}

describe('a fork', () => {
  test('with an edited tool result runs live from there, flips the outcome, and reports its progress', async () => {
    const api = await open()
    const { answer, request } = await api.get<Editable>(`/runs/${desk.run}/steps/1/editable`)
    expect(answer).toMatchObject({ form: 'json', kind: 'result' })
    expect(JSON.parse(request?.text ?? '')).toEqual({ order: '1182' })
    const told = api.changes((change) => change.type === 'job' && hasEnded(change.job))
    const job = await api.post<Job>(`/runs/${desk.run}/fork`, {
      at: '1',
      response: (answer?.text ?? '').replace('60', '30'),
      name: 'short window',
    })
    expect(job).toMatchObject({ kind: 'fork', parent: desk.run, at: '1', state: 'running' })
    const ended = await api.job(job.id)
    expect(ended).toMatchObject({
      state: 'done',
      written: true,
      exit: { code: 5 },
      facts: { served: 1, live: 1, paidRequests: 1 },
      summary: expect.stringMatching(/^exit code 5 · 1 served, 1 live · saved 0 requests/),
    })
    const states = (await told).flatMap((change) =>
      change.type === 'job' ? [change.job.state] : [],
    )
    expect(states.at(-1)).toBe('done')

    const { head } = await api.get<{ head: RunHead }>(`/runs/${job.run}`)
    expect(head).toMatchObject({
      name: 'short window',
      branch: { kind: 'fork', at: '1', edits: [{ target: 'answer', path: 'days', value: 30 }] },
    })
    const tree = await api.get<BranchNodeView>(`/runs/${job.run}/branches`)
    expect(tree).toMatchObject({ id: desk.run, how: 'recorded', lastLine: 'APPROVED', steps: 2 })
    expect(tree.branches.find(({ id }) => id === job.run)).toMatchObject({
      how: 'fork at step 1',
      edits: ['answer days = 30'],
      exitCode: 5,
      lastLine: 'DENIED',
      facts: { served: 1, live: 1 },
    })

    expect(await readFile(join(desk.workspace.folder, 'decision.txt'), 'utf8')).toBe('days: 60\n')
  })

  test('with an edited request sends it as edited, also when a key was removed', async () => {
    soakOnly()
    const api = await open()
    const { request } = await api.get<Editable>(`/runs/${desk.run}/steps/2/editable`)
    const { temperature: _, ...asked } = JSON.parse(request?.text ?? '') as Record<string, unknown>
    const before = desk.provider.counts().requests
    const { id, run } = await api.post<Job>(`/runs/${desk.run}/fork`, {
      at: '2',
      requestText: JSON.stringify({ ...asked, model: 'gpt-4o' }),
    })
    expect(await api.job(id)).toMatchObject({ state: 'done', exit: { code: 0 } })
    expect(desk.provider.counts().requests).toBe(before + 1)
    const sent = JSON.parse(desk.provider.requests.at(-1)?.body ?? '') as object
    expect(sent).toEqual({ ...asked, model: 'gpt-4o' })
    const { head } = await api.get<{ head: RunHead }>(`/runs/${run}`)
    expect(head.branch?.edits).toEqual([{ target: 'request', value: sent }])
  })

  test('without an edit repeats the step live', async () => {
    soakOnly()
    const api = await open()
    const { id } = await api.post<Job>(`/runs/${desk.run}/fork`, { at: '2' })
    expect(await api.job(id)).toMatchObject({ state: 'done', facts: { served: 1, live: 1 } })
  })

  test('offline stops where its parent has no answer, and names the request', async () => {
    const api = await open()
    const { id } = await api.post<Job>(`/runs/${desk.run}/fork`, {
      at: '1',
      set: { days: 30 },
      tail: 'offline',
    })
    expect(await api.job(id)).toMatchObject({
      state: 'failed',
      error: { code: 'OFFLINE_TAIL_ENDED' },
      divergence: { step: '2', mismatches: [expect.anything()] },
    })
  })

  test('is refused before anything runs if it is invalid', async () => {
    const api = await open()
    const before = runsOf(desk.workspace)
    const refused = (body: unknown, run = desk.run): Promise<string> =>
      api.refusal(`/runs/${run}/fork`, body)
    expect({
      'no step': await refused({}),
      'an unknown field': await refused({ at: '1', sets: {} }),
      'a field of another type': await refused({ at: 1 }),
      'no JSON': await refused('{'),
      'a list': await refused([]),
      'a wrong status': await refused({ at: '2', status: 42 }),
      'a wrong tail': await refused({ at: '2', tail: 'soon' }),
      'a step that is not there': await refused({ at: '99' }),
      'a path that is not there': await refused({ at: '1', set: { day: 30 } }),
      'answer and question': await refused({ at: '1', set: { days: 3 }, request: { order: 'x' } }),
      'text that is no JSON': await refused({ at: '1', response: 'yes' }),
      'an answer no model gives': await refused({ at: '2', set: { choices: [] } }),
      'nothing changed': await refused({
        at: '1',
        response: '{ "order": "1182", "days": 60, "waitMs": 0, "stubborn": false }',
      }),
      'another run': await refused({ at: '1' }, '20200101-000000-aaaa'),
      'a path as run': await refused({ at: '1' }, encodeURIComponent(`../runs/${desk.run}`)),
    }).toEqual({
      'no step': 'VIEWER_BAD_CHANGE',
      'an unknown field': 'VIEWER_BAD_CHANGE',
      'a field of another type': 'VIEWER_BAD_CHANGE',
      'no JSON': 'VIEWER_BAD_CHANGE',
      'a list': 'VIEWER_BAD_CHANGE',
      'a wrong status': 'VIEWER_BAD_CHANGE',
      'a wrong tail': 'VIEWER_BAD_CHANGE',
      'a step that is not there': 'NO_SUCH_STEP',
      'a path that is not there': 'EDIT_NO_SUCH_PATH',
      'answer and question': 'ANSWER_AND_REQUEST_EDITED',
      'text that is no JSON': 'EDIT_NOT_JSON',
      'an answer no model gives': 'EDIT_INVALID_ANSWER',
      'nothing changed': 'NOTHING_EDITED',
      'another run': 'UNKNOWN_RUN',
      'a path as run': 'UNKNOWN_RUN',
    })
    const { json } = await api.send<Refused>('POST', `/runs/${desk.run}/fork`, { at: 1 })
    expect(json.error.what).toBe('"at" is not the label of a step.')
    expect(runsOf(desk.workspace)).toEqual(before)
    expect(await api.get('/jobs')).toEqual([])
  })

  test('of changed code fails, says where, and leaves nothing behind', async () => {
    soakOnly()
    const api = await open()
    const before = runsOf(desk.workspace)
    const job = await withOtherPrompt(async () => {
      const { id } = await api.post<Job>(`/runs/${desk.run}/fork`, { at: '2', status: 500 })
      return api.job(id)
    })
    expect(job).toMatchObject({
      state: 'failed',
      written: false,
      error: { code: 'REPLAY_DIVERGED', what: expect.stringContaining('event') },
      divergence: { step: '2', site: expect.stringContaining('desk.mjs') },
    })
    expect(runsOf(desk.workspace)).toEqual(before)
  })

  test('started by two pages makes two branches; of many, four run at a time', async () => {
    soakOnly()
    const api = await open()
    const slow = (): Promise<Job> =>
      api.post<Job>(`/runs/${desk.run}/fork`, { at: '1', set: { waitMs: 60_000 } })
    const started = await Promise.all([slow(), slow(), slow(), slow(), slow()])
    expect(new Set(started.map(({ run }) => run)).size).toBe(5)
    const states = (await api.get<Job[]>('/jobs')).map(({ state }) => state)
    expect(states.toSorted()).toEqual(['running', 'running', 'running', 'running', 'waiting'])
    const waiting = (await api.get<Job[]>('/jobs')).find(({ state }) => state === 'waiting')
    const first = started.find(({ id }) => id !== waiting?.id)
    await api.post(`/jobs/${first?.id}/stop`)
    await api.job(waiting?.id ?? '', ({ state }) => state === 'running')
    await api.post(`/jobs/${waiting?.id}/stop`)
  })
})

describe('stopping a fork', () => {
  test.each([
    ['ends its process and keeps what it recorded', false, 'SIGTERM'],
    ['kills a process that does not want to end', true, 'SIGKILL'],
  ])('%s', async (_title, stubborn, signal) => {
    const api = await open()
    const { id, run } = await api.post<Job>(`/runs/${desk.run}/fork`, {
      at: '1',
      set: { waitMs: 600_000, stubborn },
    })
    await api.job(id, ({ written }) => written)
    // The last thing it does before it waits.
    await expect
      .poll(() => api.get(`/runs/${run}/console`), { timeout: 60_000 })
      .toMatchObject([{ text: 'waiting\n' }])
    expect(processesNaming(desk.agent)).toHaveLength(1)
    await api.post(`/jobs/${id}/stop`)
    expect(processesNaming(desk.agent)).toEqual([])
    expect(await api.job(id)).toMatchObject({
      state: 'stopped',
      written: true,
      summary: 'stopped; the branch contains what was recorded',
    })
    const { head } = await api.get<{ head: RunHead }>(`/runs/${run}`)
    expect(head).toMatchObject({
      status: 'killed',
      ...(signal === 'SIGTERM' && { exit: { signal } }),
    })
    // Once more is no error.
    await api.post(`/jobs/${id}/stop`)
    expect(await api.refusal('/jobs/none/stop')).toBe('NO_SUCH_JOB')
  })

  test('happens when the server ends', async () => {
    soakOnly()
    const ui = await startUi(desk.workspace.folder)
    const api = new AskApi(ui)
    const { id } = await api.post<Job>(`/runs/${desk.run}/fork`, {
      at: '1',
      set: { waitMs: 600_000, stubborn: true },
    })
    await api.job(id, ({ written }) => written)
    await ui.stop()
    expect(processesNaming(desk.agent)).toEqual([])
  })
})

describe('a rerun', () => {
  test('of unchanged code makes no branch and says so', async () => {
    const api = await open()
    const before = runsOf(desk.workspace)
    const { id } = await api.post<Job>(`/runs/${desk.run}/rerun`)
    expect(await api.job(id)).toMatchObject({
      kind: 'rerun',
      state: 'done',
      identical: true,
      written: false,
      summary: expect.stringContaining('identical'),
    })
    expect(runsOf(desk.workspace)).toEqual(before)
  })

  test('of changed code goes live at the first difference, and says where and why', async () => {
    const api = await open()
    const job = await withOtherPrompt(async () => {
      const { id } = await api.post<Job>(`/runs/${desk.run}/rerun`, { name: 'items' })
      return api.job(id)
    })
    expect(job).toMatchObject({
      state: 'done',
      written: true,
      exit: { code: 0 },
      facts: { served: 1, live: 1 },
      divergence: {
        step: '2',
        site: expect.stringContaining('desk.mjs'),
        mismatches: [{ recorded: expect.stringContaining('Order 1182') }],
      },
    })
    const { head } = await api.get<{ head: RunHead }>(`/runs/${job.run}`)
    expect(head).toMatchObject({ name: 'items', branch: { kind: 'rerun' } })
  })

  test('with an unknown option is refused', async () => {
    soakOnly()
    const api = await open()
    expect(await api.refusal(`/runs/${desk.run}/rerun`, { at: '1' })).toBe('VIEWER_BAD_CHANGE')
  })
})

describe('nothing is started', () => {
  test('live without the credentials of the recording, although offline needs none', async () => {
    const own = await recordDesk({ env: { SHOP_API_KEY: `fake-${Date.now()}-${process.pid}` } })
    try {
      const api = new AskApi(await startUi(own.workspace.folder))
      const fork = `/runs/${own.run}/fork`
      const { status, json } = await api.send<Refused>('POST', fork, { at: '1', set: { days: 50 } })
      expect({ status, code: json.error.code }).toEqual({
        status: 422,
        code: 'CREDENTIALS_MISSING',
      })
      expect(json.error.what).toContain('SHOP_API_KEY')
      expect(json.error.fix).toContain('--tail offline')
      expect(await api.get('/jobs')).toEqual([])
      const offline = { at: '1', set: { waitMs: 1 }, tail: 'offline' }
      const { id } = await api.post<Job>(fork, offline)
      expect(await api.job(id)).toMatchObject({ state: 'done', exit: { code: 0 } })
    } finally {
      await own.remove()
    }
  })

  test('from a deleted run, or a run whose program was deleted', async () => {
    soakOnly()
    const own = await recordDesk()
    try {
      const api = new AskApi(await startUi(own.workspace.folder))
      await rm(own.agent)
      expect(await api.refusal(`/runs/${own.run}/fork`, { at: '1' })).toBe('RECORDED_AGENT_MISSING')
      expect(await api.refusal(`/runs/${own.run}/sessions`)).toBe('RECORDED_AGENT_MISSING')
      const { abilities } = await api.get<{ abilities: object }>(`/runs/${own.run}`)
      const why = expect.stringContaining('no longer exists')
      expect(abilities).toEqual({ fork: why, rerun: why, step: why })
      await rm(join(own.workspace.folder, '.retake', 'runs', `${own.run}.tape`))
      expect(await api.refusal(`/runs/${own.run}/fork`, { at: '1' })).toBe('UNKNOWN_RUN')
      expect(await api.refusal(`/runs/${own.run}/rerun`)).toBe('UNKNOWN_RUN')
    } finally {
      await own.remove()
    }
  })
})
