import { rename, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { OpenedSession, SessionPosition, SessionValue } from '@retake/web'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { run } from '../support/run-retake.mjs'
import { AskApi, processesNaming, type Refused } from './support/ask-api.js'
import { DESK, recordDesk, type Desk } from './support/desk.js'
import { startUi, type Ui } from './support/start-ui.js'
import { soakOnly } from '../support/soak.js'

const idleSessions = fileURLToPath(new URL('support/idle-sessions.mjs', import.meta.url))

let desk: Desk
beforeAll(async () => {
  desk = await recordDesk()
})
afterAll(() => desk.remove())

interface FrameworkScope {
  readonly ui: Ui
  readonly api: AskApi
  readonly session: string
  readonly opened: OpenedSession
  readonly move: (to: string | { step: string }) => Promise<SessionPosition>
  readonly evaluate: (expression: string) => Promise<SessionValue>
}

async function stand(): Promise<FrameworkScope> {
  const ui = await startUi(desk.workspace.folder)
  const api = new AskApi(ui)
  const opened = await api.post<OpenedSession>(`/runs/${desk.run}/sessions`)
  const at = `/sessions/${opened.session}`
  return {
    ui,
    api,
    session: at,
    opened,
    move: (to) =>
      api.post(`${at}/move`, typeof to === 'string' ? { to } : { to: 'step', step: to.step }),
    evaluate: (expression) => api.post(`${at}/evaluate`, { expression }),
  }
}

const gone = async (): Promise<void> => {
  await expect.poll(() => processesNaming(desk.agent), { timeout: 60_000 }).toEqual([])
}

/** A variable of the innermost function. */
function variable(position: SessionPosition, name: string): unknown {
  if (position.kind !== 'stop') throw new Error(`it stands at the ${position.kind}`)
  return position.state.frames[0]?.variables.find((each) => each.name === name)?.json
}

test('the program is really paused at a step, moves both ways, and shows what changed', async () => {
  const { opened, move, api, session } = await stand()
  expect(opened).toMatchObject({ steps: 2, changedSources: [], code: 'today' })

  const first = await move({ step: '1' })
  expect(first).toMatchObject({
    kind: 'stop',
    step: '1',
    index: 0,
    title: 'look({"order":"1182"})',
    state: {
      isDirect: true,
      changes: [],
      source: "  const prompt = 'Order ' + found.order + ' within ' + found.days + ' days'",
      frames: [{ name: 'handle' }],
    },
  })
  expect(variable(first, 'found')).toEqual({
    order: '1182',
    days: 60,
    waitMs: 0,
    stubborn: false,
  })
  expect(first.kind === 'stop' && first.stack[0]).toMatchObject({
    name: 'handle',
    file: 'desk.mjs',
    isUser: true,
    isAsync: false,
  })

  const second = await move('next')
  expect(second).toMatchObject({ kind: 'stop', step: '2', state: { comparedWith: '1' } })
  if (second.kind !== 'stop') return
  expect(second.state.changes).toContainEqual({
    path: 'handle.prompt',
    before: { $type: 'unavailable' },
    after: 'Order 1182 within 60 days',
  })

  expect(await move('next')).toEqual({ kind: 'end' })
  expect(await move('back')).toMatchObject({ kind: 'stop', step: '2' })
  expect(await move('back')).toMatchObject({ kind: 'stop', step: '1' })
  expect(await move('back')).toEqual({ kind: 'start' })
  expect(await move('next in lane')).toMatchObject({ kind: 'stop', step: '1' })

  expect(await api.send('DELETE', session)).toMatchObject({ status: 200 })
  await gone()
  expect(await api.refusal(`${session}/move`, { to: 'next' })).toBe('NO_SUCH_SESSION')
  expect(await api.send('DELETE', session)).toMatchObject({ status: 200 })
})

test('expressions are evaluated where the program is paused, and cannot change anything', async () => {
  const { move, evaluate, api, session } = await stand()
  expect(await api.refusal(`${session}/evaluate`, { expression: '1' })).toBe('NOT_AT_A_STEP')
  await move({ step: '1' })
  expect(await evaluate('found.days / 2')).toEqual({
    ok: true,
    type: 'number',
    text: '30',
    json: 30,
    cut: false,
  })
  expect(await evaluate('{ order, days: found.days }')).toMatchObject({
    json: { order: '1182', days: 60 },
  })
  expect(await evaluate('undefined')).toMatchObject({ ok: true, type: 'undefined' })
  expect(await evaluate('found.days = 1')).toMatchObject({
    ok: false,
    text: expect.stringContaining('side-effect'),
  })
  expect(await evaluate('nothing.here')).toMatchObject({
    ok: false,
    text: expect.stringContaining('nothing is not defined'),
  })
  expect(await evaluate('found.days')).toMatchObject({ json: 60 })
  expect(await api.refusal(`${session}/evaluate`, { expression: 'a b' })).toBe('EXPRESSION_INVALID')
  expect(await api.refusal(`${session}/evaluate`, { expression: 7 })).toBe('VIEWER_BAD_CHANGE')
})

test('invalid moves are refused, and the session stays where it is', async () => {
  soakOnly()
  const { move, api, session } = await stand()
  await move({ step: '1' })
  expect(await api.refusal(`${session}/move`, { to: 'step', step: '77' })).toBe('NO_SUCH_STEP')
  expect(await api.refusal(`${session}/move`, { to: 'up' })).toBe('VIEWER_BAD_CHANGE')
  expect(await api.refusal(`${session}/move`, { to: 'step' })).toBe('VIEWER_BAD_CHANGE')
  expect(await move('next')).toMatchObject({ kind: 'stop', step: '2' })
})

test('after an edit, the page is paused in the recorded code, or told why it cannot be', async () => {
  const { move, api, session } = await stand()
  const first = await move({ step: '1' })
  const edited = `// new\n${DESK.replace("'Order '", "'Item '")}`
  const store = join(desk.workspace.folder, '.retake', 'sources')
  try {
    await writeFile(desk.agent, edited)
    expect(await api.refusal(`${session}/move`, { to: 'next' })).toBe('NO_SUCH_SESSION')
    const opened = await api.post<OpenedSession>(`/runs/${desk.run}/sessions`)
    expect(opened).toMatchObject({ changedSources: ['desk.mjs'], code: 'recorded' })
    const position = await api.post<SessionPosition>(`/sessions/${opened.session}/move`, {
      to: 'step',
      step: '1',
    })
    expect(position).toEqual(first)
    // Sessions of recorded code ignore edits.
    await writeFile(desk.agent, DESK)
    await api.post(`/sessions/${opened.session}/move`, { to: 'next' })
    await api.send('DELETE', `/sessions/${opened.session}`)

    await rm(desk.agent)
    expect(await api.get(`/runs/${desk.run}`)).toMatchObject({
      abilities: { step: true, rerun: expect.stringContaining('desk.mjs') },
    })
    const deleted = await api.post<OpenedSession>(`/runs/${desk.run}/sessions`)
    expect(await api.post(`/sessions/${deleted.session}/move`, { to: 'step', step: '1' })).toEqual(
      first,
    )
    await api.send('DELETE', `/sessions/${deleted.session}`)

    await writeFile(desk.agent, edited)
    await rename(store, `${store}-away`)
    const today = await api.post<OpenedSession>(`/runs/${desk.run}/sessions`)
    expect(today).toMatchObject({ code: 'today' })
    const at = `/sessions/${today.session}/move`
    const { status, json } = await api.send<Refused>('POST', at, { to: 'step', step: '2' })
    expect({ status, code: json.error.code }).toEqual({ status: 422, code: 'STEP_NOT_REACHED' })
    expect(json.error.why).toMatch(
      /diverged at event \d+: .+Saved since the recording: desk\.mjs\./,
    )
  } finally {
    await writeFile(desk.agent, DESK)
    await rename(`${store}-away`, store).catch(() => {})
  }
})

test('only a few sessions are open at a time: the least recently used one is closed', async () => {
  soakOnly()
  const { api, move } = await stand()
  for (let each = 0; each < 4; each++) await api.post(`/runs/${desk.run}/sessions`)
  await expect(move('next')).rejects.toThrow('NO_SUCH_SESSION')
})

test('an unused session ends after a while', async () => {
  soakOnly()
  const { folder } = desk.workspace
  const tape = join(folder, '.retake', 'runs', `${desk.run}.tape`)
  const { stdout, stderr } = await run(process.execPath, [idleSessions, tape, '300'], folder)
  expect(JSON.parse(stdout || stderr)).toEqual({ used: true, left: 0, code: 'NO_SUCH_SESSION' })
})

test('moving to the current step keeps the list of changes', async () => {
  soakOnly()
  const { move } = await stand()
  await move('next')
  const second = await move('next')
  expect(await move({ step: '2' })).toEqual(second)
})

test('a session ends when the tape of its run changes', async () => {
  soakOnly()
  const { api, session, move } = await stand()
  await move('next')
  const tape = join(desk.workspace.folder, '.retake', 'runs', `${desk.run}.tape`)
  await utimes(tape, new Date(), new Date())
  expect(await api.refusal(`${session}/move`, { to: 'next' })).toBe('NO_SUCH_SESSION')
  await gone()
})

test('no process is left when the server ends or is killed', async () => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL'] as const) {
    const { ui, move } = await stand()
    await move('next')
    expect(processesNaming(desk.agent).length).toBeGreaterThan(0)
    ui.process.kill(signal)
    await gone()
  }
})

test('a run that is still recorded cannot be stepped through, forked or rerun yet', async () => {
  soakOnly()
  const { api } = await stand()
  const slow = 'recorded-slowly.mjs'
  const { folder } = desk.workspace
  await writeFile(
    join(folder, slow),
    `console.log('here'); const timer = setInterval(() => {}, 1000)
     process.on('SIGTERM', () => clearInterval(timer))`,
  )
  const recording = desk.workspace.retake(['record', join(folder, slow)])
  interface Card {
    id: string
    status: string
  }
  const growing = async (): Promise<Card | undefined> =>
    (await api.get<Card[]>('/runs')).find(({ status }) => status === 'recording')
  await expect.poll(growing, { timeout: 60_000 }).toBeDefined()
  const { id = '' } = (await growing()) ?? {}
  const codes = [
    await api.refusal(`/runs/${id}/sessions`),
    await api.refusal(`/runs/${id}/fork`, { at: '1' }),
    await api.refusal(`/runs/${id}/rerun`),
  ]
  for (const line of processesNaming(join(folder, slow))) {
    try {
      process.kill(Number.parseInt(line, 10), 'SIGTERM')
    } catch {
      // Gone already: the recorder ends what it has started.
    }
  }
  await recording
  expect(codes).toEqual(Array(3).fill('RUN_STILL_RECORDING'))
})
