import { openTape } from '@retake/tape/node'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { ForkScene, removeScenes, viewOf } from '../support/forking.js'
import { startProvider } from '../support/loopback-provider.mjs'
import { agentPath, makeWorkspace, run } from '../support/run-retake.mjs'
import { sampled, soakOnly } from '../support/soak.js'

afterAll(removeScenes)

const offline = ['--tail', 'offline']

/** Everything printed, whichever lane printed it first. */
const sorted = (text: string): string[] => text.split('\n').toSorted()

describe.concurrent('with the provider stopped', () => {
  const clients = ['openai-chat-stream', 'anthropic', 'axios', 'http2']
  test.each(sampled(clients, (client) => client === 'axios'))(
    '%s: a fork without a later change runs to the same end from every step',
    async (client) => {
      const scene = await ForkScene.record('fork/conversation.mjs', { args: [client, '3'] })
      await scene.provider.close()
      for (const step of sampled([1, 2, 3, 4, 5, 6], (each) => each % 3 === 2)) {
        const made = await scene.branch(['fork', scene.parent, '--at', `${step}`, ...offline])
        expect(made, `step ${step} ${made.stderr}`).toMatchObject({
          code: 0,
          stdout: scene.recorded.stdout,
        })
        expect(made.tape.status).toBe('sealed')
      }
    },
  )

  const stories = [
    'requests',
    'idle',
    'upload',
    'websocket',
    'opaque',
    'child',
    'quietChild',
    'worker',
    'abort',
    'timers',
    'race',
    'enough',
  ]
  test.each(sampled(stories, (story) => /^(idle|websocket|worker)$/.test(story)))(
    'an operation under way at the fork completes as recorded: %s',
    async (story) => {
      const scene = await ForkScene.record('fork/under-way.mjs', { args: [story] })
      expect(scene.recorded.code, scene.recorded.stderr).toBe(0)
      const steps = viewOf(openTape(scene.parent)).recordedSteps
      const decide = steps.find(({ title }) => title.startsWith('decide'))
      await scene.provider.close()
      const at = decide?.label ?? ''
      const made = await scene.branch(['fork', scene.parent, '--at', at, ...offline])
      expect(made, made.stderr).toMatchObject({ code: 0, stdout: scene.recorded.stdout })
    },
  )

  test('four lanes reach the same end from any of their steps', async () => {
    const scene = await ForkScene.record('fork/lanes.mjs', { maxLatencyMs: 10 })
    await scene.provider.close()
    for (const step of sampled([1, 5, 9, 13, 17, 20], (each) => each === 9)) {
      const made = await scene.branch(['fork', scene.parent, '--at', `${step}`, ...offline])
      expect(made.code, `step ${step} ${made.stderr}`).toBe(0)
      expect(sorted(made.stdout)).toEqual(sorted(scene.recorded.stdout))
    }
  })
})

test('an edit that changes the next request stops exactly there, without a request', async () => {
  const scene = await ForkScene.record('fork/conversation.mjs', { args: ['openai-chat', '4'] })
  const edit = ['--set', 'heard="something else"']
  const made = await scene.branch(['fork', scene.parent, '--at', '4', ...edit, ...offline])
  expect(made.code).toBe(3)
  expect(made.sent).toEqual([])
  const lines = scene.recorded.stdout.split('\n')
  expect(made.stdout.split('\n').slice(0, 3)).toEqual(lines.slice(0, 3))
  expect(made.stdout.split('\n')).toHaveLength(5)
  expect(made.stdout).toContain('tool 2: something else')
  expect(made.stderr).toContain('body.messages[0].content')
  expect(made.stderr).toMatch(/diverged at event \d+ of \d+ · step 5/)
  expect(made.tape.status).toBe('truncated')
  expect(made.tape.verify().problem).toBeUndefined()
  expect(made.view.recordedSteps).toHaveLength(5)
  const shown = await scene.workspace.retake(['show', made.path ?? ''])
  expect(shown.code).toBe(0)
})

test('a branch that ended offline continues live when it is resumed, and replays as one run', async () => {
  soakOnly()
  const scene = await ForkScene.record('fork/conversation.mjs', { args: ['openai-chat', '3'] })
  const edit = ['--set', 'heard="something else"']
  const made = await scene.branch(['fork', scene.parent, '--at', '2', ...edit, ...offline])
  expect(made).toMatchObject({ code: 3, sent: [] })
  const before = scene.provider.counts().requests
  const resume = ['resume', made.path ?? '', '--in-doubt', 'retry']
  const resumed = await scene.workspace.retake(resume)
  expect(resumed.code, resumed.stderr).toBe(0)
  expect(scene.provider.counts().requests - before).toBe(2)
  const replayed = await scene.workspace.replay({ run: made.path ?? '' })
  expect(replayed, replayed.stderr).toMatchObject({ code: 0, stdout: resumed.stdout })
})

test('a changed request has no answer, and neither has one that depends on other random values', async () => {
  soakOnly()
  const scene = await ForkScene.record('fork/conversation.mjs', { args: ['openai-chat', '2'] })
  const request = ['--request', 'model="another"']
  const asked = await scene.branch(['fork', scene.parent, '--at', '3', ...request, ...offline])
  expect(asked).toMatchObject({ code: 3, sent: [] })
  expect(asked.stderr).toContain('body.model')
  const draw = [...openTape(scene.parent).events()].find(
    (event) => event.type === 'draw' && event.kind === 'Math.random',
  )
  const at = `e${draw?.seq}`
  const drawn = await scene.branch([
    'fork',
    scene.parent,
    '--at',
    at,
    '--set',
    'value=0.5',
    ...offline,
  ])
  expect(drawn).toMatchObject({ code: 3, sent: [] })
  expect(drawn.stderr).toContain('dice 0.5')
})

test('the library forks offline in its own process and throws where it ends', async () => {
  const provider = await startProvider()
  onTestFinished(provider.close)
  const workspace = await makeWorkspace()
  onTestFinished(workspace.remove)
  const script = agentPath('library/offline-fork.mjs')
  const { stdout, stderr } = await run(
    process.execPath,
    [script, provider.url, 'runs'],
    workspace.folder,
  )
  expect(stderr).toBe('')
  expect(provider.counts().requests).toBe(9)
  expect(JSON.parse(stdout)).toMatchObject({
    isSame: true,
    replaysSame: true,
    toolCalls: 0,
    other: {
      code: 'OFFLINE_TAIL_ENDED',
      divergence: { kind: 'different', mismatches: [{ field: 'body.heard' }] },
    },
  })
})
