import { openTape } from '@retake/tape/node'
import { afterAll, describe, expect, test } from 'vitest'
import { ForkScene, ownRequests, removeScenes, viewOf } from '../support/forking.js'
import { isSoak, sampled, soakOnly } from '../support/soak.js'

afterAll(removeScenes)

/** Clients of test/agents/fork/clients.mjs, and where the text is in their answers. */
const allSeams = [
  { client: 'openai-chat', text: 'choices.0.message.content' },
  { client: 'openai-chat-stream', text: 'choices.0.message.content' },
  { client: 'openai-responses-stream', text: 'output.0.content.0.text' },
  { client: 'anthropic', text: 'content.0.text' },
  { client: 'anthropic-stream', text: 'content.0.text' },
  { client: 'axios', text: 'choices.0.message.content' },
  { client: 'http', text: 'choices.0.message.content' },
  { client: 'http2', text: 'choices.0.message.content' },
] as const

/** One client for each transport; test/cli/fork forks answers of `fetch` that are not streamed. */
const seams = sampled(allSeams, ({ client }) => /^(openai-responses-stream|http2?)$/.test(client))

/** Before a merge, also forked at its last step; the others only in the middle. */
const MOST_STEPS = 'http'
const allSteps = Array.from({ length: 20 }, (_, index) => index + 1)
const stepsFor = (client: string): readonly number[] =>
  sampled(allSteps, (step) => step === 10 || (client === MOST_STEPS && step === 20))

/** Replays of branches that differ from another, replayed one only in what was edited. */
const MORE_REPLAYS = isSoak ? 1 : 0

const agent = 'fork/conversation.mjs'
const set = (path: string, value: unknown): string[] => [
  '--set',
  `${path}=${JSON.stringify(value)}`,
]

describe.concurrent('forked at its steps', () => {
  test.each(seams.map((seam) => [seam.client, seam.text] as const))(
    '%s: nothing before the step is requested, the rest sees the edit, the parent is unchanged',
    async (client, text) => {
      const scene = await ForkScene.record(agent, { args: [client] })
      expect(scene.recorded.code, scene.recorded.stderr).toBe(0)
      const lines = scene.recorded.stdout.split('\n')
      const steps = viewOf(openTape(scene.parent)).recordedSteps
      expect(steps.map(({ kind }) => kind).join(' ')).toBe('model tool '.repeat(10).trim())

      for (const step of stepsFor(client)) {
        const edited = `edited at ${step}`
        const path = step % 2 === 1 ? text : 'heard'
        const made = await scene.branch([
          'fork',
          scene.parent,
          '--at',
          `${step}`,
          ...set(path, edited),
        ])
        const where = `step ${step}\n${made.stdout}\n${made.stderr}`
        expect(made.code, where).toBe(0)
        // Two lines a round: what came before is as recorded, the step itself is edited.
        const printed = made.stdout.split('\n')
        expect(printed.slice(0, step - 1), where).toEqual(lines.slice(0, step - 1))
        expect(printed[step - 1], where).toContain(`: ${edited}`)
        const live = 10 - Math.ceil(step / 2)
        expect(made.sent.length, where).toBe(live)
        expect(
          made.sent.map(({ body }) => body),
          where,
        ).toEqual(ownRequests(made.tape))
        expect(
          made.sent.slice(0, 1).every(({ body }) => body.includes(`seen: ${edited}`)),
          where,
        ).toBe(true)
        expect(made.view.recordedSteps.length, where).toBe(20)
        if (step === 10) await replaySame(scene, made, isSoak && client === MOST_STEPS ? 10 : 1)
      }
    },
  )
})

const sampledSeams = sampled(allSeams, ({ client }) => client === 'http2')

describe.concurrent('step 9 of 20 is', () => {
  test.each(sampledSeams.map(({ client }) => [client] as const))(
    '%s: repeated, sent with another prompt, or answered with an error',
    async (client) => {
      const scene = await ForkScene.record(agent, { args: [client] })
      const fork = (...args: string[]) => scene.branch(['fork', scene.parent, '--at', '9', ...args])
      const lines = scene.recorded.stdout.split('\n')
      const question = /round 5 at \d+, dice [\d.]+, seen: [^"]*/
      const recorded = requestBodies(scene.parent)[4] ?? ''

      const again = await fork()
      expect(again.code, again.stderr).toBe(0)
      expect(again.sent.map(({ body }) => body)).toEqual([recorded, ...ownRequests(again.tape)])
      expect(again.sent.length).toBe(6)
      expect(again.stdout.split('\n').slice(0, 8)).toEqual(lines.slice(0, 8))
      expect(again.stdout.split('\n')[8]).not.toBe(lines[8])
      await replaySame(scene, again, MORE_REPLAYS)

      const other = await fork(
        '--request',
        'model="another-model"',
        '--request',
        `${promptPath(client)}="Say it ☃."`,
      )
      expect(other.code, other.stderr).toBe(0)
      expect(other.sent.length).toBe(6)
      const asked = JSON.parse(other.sent[0]?.body ?? '') as object
      expect(asked).toEqual({
        ...JSON.parse(recorded.replace(question, 'Say it ☃.')),
        model: 'another-model',
      })
      expect(other.sent[1]?.body).not.toContain('another-model')
      await replaySame(scene, other)

      const refused = await fork('--status', '500')
      expect(refused.code, refused.stderr).toBe(0)
      expect(refused.stdout.split('\n')[8]).toMatch(/^model 5: failed with (status )?500$/)
      expect(refused.sent[0]?.body).toContain('seen: failed with')
      expect(refused.sent.length).toBe(5)
      expect(refused.stderr).toContain('changed  answer :status = 500')
      expect(refused.stderr).toContain('paid     5 requests')
      await replaySame(scene, refused, MORE_REPLAYS)
    },
  )
})

test('a tool gets other arguments, a clock and a random draw other values', async () => {
  const scene = await ForkScene.record(agent, { args: ['http'] })
  const fork = (at: string, ...args: string[]) =>
    scene.branch(['fork', scene.parent, '--at', at, ...args])

  const given = await fork('10', '--request', 'text="other arguments"')
  expect(given.code, given.stderr).toBe(0)
  expect(given.stdout.split('\n')[9]).toMatch(/^tool 5: other arguments 0\.\d+$/)
  expect(given.sent[0]?.body).toContain('round 6')
  expect(given.sent[0]?.body).toContain('seen: other arguments')
  await replaySame(scene, given, MORE_REPLAYS)

  const again = await fork('10')
  const line = scene.recorded.stdout.split('\n')[9] ?? ''
  expect(again.stdout.split('\n')[9]).toMatch(/^tool 5: /)
  expect(again.stdout.split('\n')[9]).not.toBe(line)
  await replaySame(scene, again, MORE_REPLAYS)

  const parent = openTape(scene.parent)
  const ask = viewOf(parent).step('9')?.seq ?? 0
  const drawBefore = (kind: string): number => {
    for (let seq = ask; seq > 0; seq -= 1) {
      const event = parent.event(seq)
      if (event.type === 'draw' && event.kind === kind) return seq
    }
    throw new Error(`no ${kind}`)
  }
  const thrown = await fork(`e${drawBefore('Math.random')}`, ...set('value', 0.125))
  expect(thrown.code, thrown.stderr).toBe(0)
  expect(thrown.sent[0]?.body).toMatch(/round 5 at \d+, dice 0\.125, seen/)
  expect(thrown.sent.length).toBe(6)
  await replaySame(scene, thrown, MORE_REPLAYS)

  const timed = await fork(`e${drawBefore('Date.now')}`, ...set('value', 86_400_000))
  expect(timed.code, timed.stderr).toBe(0)
  expect(timed.sent[0]?.body).toContain('round 5 at 86400000, dice')
  expect(timed.sent.length).toBe(6)
  await replaySame(scene, timed)
})

test('a fork of a fork of a fork continues from each', async () => {
  soakOnly()
  const scene = await ForkScene.record(agent, { args: ['openai-chat-stream'] })
  let from = scene.parent
  let said = scene.recorded.stdout.split('\n')
  const edits: string[] = []
  for (const step of [4, 9, 14]) {
    const edited = `edited at ${step}`
    edits.push(edited)
    const path = step % 2 === 1 ? 'choices.0.message.content' : 'heard'
    const made = await scene.branch(['fork', from, '--at', `${step}`, ...set(path, edited)])
    expect(made.code, made.stderr).toBe(0)
    const printed = made.stdout.split('\n')
    expect(printed.slice(0, step - 1)).toEqual(said.slice(0, step - 1))
    for (const earlier of edits) expect(made.stdout).toContain(earlier)
    expect(made.sent.length).toBe(10 - Math.ceil(step / 2))
    expect(made.tape.run.parent?.run).toBe(openTape(from).run.id)
    await replaySame(scene, made)
    from = made.path ?? ''
    said = printed
  }
  // And one before the place where its parent left its own parent.
  const early = await scene.branch(['fork', from, '--at', '2', ...set('heard', 'early')])
  expect(early.code, early.stderr).toBe(0)
  expect(early.sent.length).toBe(9)
  await replaySame(scene, early)
})

test('two concurrent forks of one run do not disturb each other', async () => {
  const scene = await ForkScene.record(agent, { args: ['anthropic'], maxLatencyMs: 20 })
  const made = await Promise.all(
    ['left', 'right'].map((side) =>
      scene.workspace.retake(['fork', scene.parent, '--at', '6', ...set('heard', side)]),
    ),
  )
  expect(made.map(({ code }) => code)).toEqual([0, 0])
  expect(scene.tapes.length).toBe(3)
  const bodies = scene.provider.requests.slice(10).map(({ body }) => body)
  expect(bodies.length).toBe(14)
  expect(bodies.filter((body) => /round 4 .*seen: (left|right)/.test(body)).length).toBe(2)
  const [, ...branches] = scene.tapes
  const said = branches.map((path) => ownRequests(openTape(path)))
  expect(said.flat().toSorted()).toEqual(bodies.toSorted())
  const sides = said.map(([first]) => String(/seen: (left|right)/.exec(first ?? '')?.[1]))
  expect(sides.toSorted()).toEqual(['left', 'right'])
})

describe('forked at steps of four concurrent lanes', () => {
  test('operations under way get their recorded answers, and only later ones go live', async () => {
    const scene = await ForkScene.record('fork/lanes.mjs', { maxLatencyMs: 15 })
    expect(scene.recorded.code, scene.recorded.stderr).toBe(0)
    const parent = openTape(scene.parent)
    const { recordedSteps } = viewOf(parent)
    expect(recordedSteps.length).toBe(20)
    const recorded = new Set(requestBodies(scene.parent))
    let underWay = 0
    const forked = sampled(recordedSteps, (_, index) => index % 6 === 2)
    for (const { label, kind, seq, answerSeqs } of forked) {
      const path = kind === 'model' ? 'choices.0.message.content' : 'heard'
      const made = await scene.branch(['fork', scene.parent, '--at', label, ...set(path, 'edited')])
      const where = `step ${label}\n${made.stdout}\n${made.stderr}`
      expect(made.code, where).toBe(0)
      expect(made.tape.ownFrom, where).toBe(answerSeqs[0])
      const sent = made.sent.map(({ body }) => body)
      expect(sent.toSorted(), where).toEqual(ownRequests(made.tape).toSorted())
      const asked = recordedSteps.filter(
        (step) => step.kind === 'model' && step.seq < made.tape.ownFrom,
      )
      expect(sent.length + asked.length, where).toBe(12)
      underWay += asked.filter(
        (step) => step.seq !== seq && (step.answerSeqs.at(-1) ?? 0) > made.tape.ownFrom,
      ).length
      const text = Buffer.from(parent.body(seq)).toString()
      const lane = /lane"?[: ]+(\d)/.exec(text)?.[1] ?? ''
      const round = Number(/lane \d round (\d)/.exec(text)?.[1] ?? 0)
      expect(made.stdout, where).toMatch(new RegExp(`^lane ${lane} (model|tool) \\d: edited`, 'm'))
      const heard = sent.some(
        (body) => body.includes(`lane ${lane} `) && body.includes('seen: edited'),
      )
      expect(heard, where).toBe(round < 3)
      // Those whose question did not change were answered from the tape, if they were asked before.
      for (const step of asked)
        expect(sent, where).not.toContain(Buffer.from(parent.body(step.seq)).toString())
      expect(recorded.size, where).toBe(12)
      await replaySame(scene, made, Number(label) % 5 === 0 ? 1 : 0)
    }
    // Otherwise the test would not have shown anything about concurrency.
    expect(underWay).toBeGreaterThan(forked.length / 2)
  })
})

interface Told {
  readonly says: RegExp
  readonly asks?: readonly string[]
  readonly code?: number
  readonly error?: string
}

/** What each story of test/agents/fork/under-way.mjs prints after the fork, and what it asks for. */
const stories: Readonly<Record<string, Told>> = {
  requests: {
    says: /^decided forked\n(.*chunk 24;\n){3}0\.\d+\n200\n200\n200\n$/,
    asks: ['/echo?after=http', '/echo?after=http2', '/echo?after=fetch'],
  },
  idle: {
    says: /^200\n200\ndecided forked\n(200\n){6}$/,
    asks: [1, 2, 3].flatMap((again) => [`/echo?after=http${again}`, `/echo?after=http2${again}`]),
  },
  connecting: { says: /^decided forked 0\nopened 1 1\n200\n$/, asks: ['/echo?after=http2'] },
  upload: { says: /^decided forked\n23\n$/, asks: ['/upload'] },
  websocket: { says: /^first true\ndecided forked\n(error ECONNRESET\n)?closed 1006\n$/ },
  handshake: { says: /^decided forked\nclosed 1006\n$/ },
  opaque: { says: /^settings true\ndecided forked\nclosed\n$/ },
  child: { says: /decided forked\nclosed null SIGKILL\nclosed null SIGKILL\n$/ },
  quietChild: { says: /^decided forked\nclosed 5 null\n$/ },
  forgottenChild: { says: /^decided forked\nclosed null SIGKILL\nkill false\n$/ },
  worker: { says: /decided forked\nexited 1\nterminated undefined\n$/ },
  abort: {
    says: /^decided forked\nby hand AbortError 20\nby timeout TimeoutError 23\nin the body TimeoutError 23\nover http too slow\n$/,
  },
  timers: { says: /^decided forked\nlater\nticked true\n$/ },
  race: { says: /^decided forked\nthe timer was first\nthe answer\n$/ },
  exits: { says: /^decided forked\nexit 7\n$/, code: 7 },
  throws: { says: /^decided forked\n$/, asks: ['/echo'], code: 1, error: 'no forked' },
  enough: { says: /^decided forked\n200\n$/, asks: ['/echo?after=1'] },
}

describe.concurrent('an operation under way when a fork goes live', () => {
  const sampledStories = ['requests', 'child', 'abort']
  const cases = sampled(Object.entries(stories), ([story]) => sampledStories.includes(story))
  test.each(cases)('%s', async (story, { says, asks = [], code = 0, error }) => {
    const scene = await ForkScene.record('fork/under-way.mjs', { args: [story] })
    expect(scene.recorded.code, scene.recorded.stderr).toBe(0)
    const { recordedSteps } = viewOf(openTape(scene.parent))
    const at = recordedSteps.find(({ title }) => title.startsWith('decide'))?.label ?? ''
    const made = await scene.branch(['fork', scene.parent, '--at', at, ...set('value', 'forked')])
    expect(made.stdout, made.stderr).toMatch(says)
    expect(made.sent.map(({ path }) => path)).toEqual(asks)
    expect(made.opened > 0).toBe(asks.length > 0)
    expect(made.code, made.stderr).toBe(code)
    expect(made.view.exit?.code).toBe(code)
    expect(made.stderr).toContain(`paid     ${asks.length} request`)
    expect(made.view.exit?.error?.message).toBe(error)
    await replaySame(scene, made)
  })
})

const promptPath = (client: string): string =>
  client.startsWith('openai-responses') ? 'input.0.content' : 'messages.0.content'

function requestBodies(path: string): string[] {
  const tape = openTape(path)
  return [...tape.events()]
    .filter(({ type }) => type === 'request')
    .map(({ seq }) => Buffer.from(tape.body(seq)).toString())
}

/** Replays a branch; the provider must not notice. */
async function replaySame(
  { workspace, provider }: ForkScene,
  made: {
    readonly path: string | undefined
    readonly stdout: string
    readonly code: number | null
  },
  times = 1,
): Promise<void> {
  const { requests } = provider.counts()
  for (let time = 1; time <= times; time += 1) {
    const { stdout, code, stderr, waysOut } = await workspace.replay({ run: made.path ?? '' })
    const where = `replay ${time} of ${times} of ${made.path}\n${stderr}`
    expect(stdout, where).toBe(made.stdout)
    expect(code, where).toBe(made.code)
    expect(waysOut, where).toEqual({})
  }
  expect(provider.counts().requests).toBe(requests)
}
