import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { soakOnly } from '../support/soak.js'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type {
  NotFound,
  Position,
  StoppedPosition,
  TimelineStatus,
  Watched,
} from '@retake/engine/inspect'
import { tapesOf } from '../cli/workspace.js'
import { startProvider } from '../support/loopback-provider.mjs'
import { agentPath, makeWorkspace } from '../support/run-retake.mjs'
import type { Workspace } from '../support/run-retake.mjs'
import { isSoak, sampled } from '../support/soak.js'
import { startTimeline, survivors } from '../support/start-timeline.js'
import type { TimelineProcess } from '../support/start-timeline.js'

/** Each of four workers makes two steps per turn. Every move replays the steps before it. */
const TURNS = isSoak ? 5 : 3
const STEPS = 8 * TURNS
const lineAfterWeigh =
  readFileSync(agentPath('inspect/crew.mjs'), 'utf8')
    .split('\n')
    .indexOf('  total += weighed.grams') + 1
let workspace: Workspace
let tape: string
/** Every stop of the run, by label, seen in one pass from the start to the end. */
let straight: Map<string, StoppedPosition>

beforeAll(async () => {
  const provider = await startProvider()
  workspace = await makeWorkspace()
  await workspace.record('inspect/crew.mjs', { provider, env: { CREW_TURNS: String(TURNS) } })
  await provider.close()
  tape = (await tapesOf(workspace))[0] ?? ''
  straight = await passStraight()
})

afterAll(() => workspace.remove())

/** A timeline that is ended when the test is over, whatever comes of it. */
async function open(limits: Parameters<typeof startTimeline>[1] = {}, env?: NodeJS.ProcessEnv) {
  const timeline = await startTimeline(tape, limits, env)
  onTestFinished(() => timeline.end('SIGKILL').catch(() => {}))
  return timeline
}

async function passStraight(): Promise<Map<string, StoppedPosition>> {
  const timeline = await startTimeline(tape, { keyframes: 0 })
  const stops = new Map<string, StoppedPosition>()
  for (;;) {
    const position = await timeline.call<Position>('next')
    if (position.kind !== 'stop') break
    stops.set(position.moment.label, position)
  }
  await timeline.call('close')
  await timeline.end('SIGTERM')
  return stops
}

const valueOf = ({ locals }: StoppedPosition, name: string): unknown =>
  locals.find((variable) => variable.name === name)?.json

/** The same order for each run of the test. */
const shuffled = <T>(items: readonly T[]): T[] => {
  let seed = 7
  const keyed = items.map((item) => ({ item, key: (seed = (seed * 16807) % 2147483647) }))
  return keyed.toSorted((a, b) => a.key - b.key).map(({ item }) => item)
}

describe('a run of four concurrent workers', () => {
  test('is stepped in the order of answers, each stop in the frame of the call', () => {
    expect(straight.size).toBe(STEPS)
    const seqs = [...straight.values()].map(({ moment }) => moment.seq)
    expect(seqs).toEqual(seqs.toSorted((a, b) => a - b))
    // Concurrency: not the order in which the steps were started.
    expect([...straight.keys()]).not.toEqual([...straight.keys()].toSorted((a, b) => +a - +b))
    for (const stop of straight.values()) {
      expect(stop.stack.find(({ isUser }) => isUser)?.name).toBe('round')
      expect(stop.location?.file).toMatch(/crew\.mjs$/)
      if (stop.moment.kind !== 'tool') continue
      expect(stop.moment.title).toBe(`weigh(${String(valueOf(stop, 'name'))})`)
      expect(stop.location?.line).toBe(lineAfterWeigh)
    }
  })

  test('has the same state at every step, however it was reached', async () => {
    const timeline = await open({ keyframes: 4 })
    const labels = sampled(shuffled([...straight.keys()]), (_, index) => index < 6)
    for (const [turn, label] of labels.entries()) {
      expect(await timeline.call('jump', label), label).toEqual(straight.get(label))
      // In a hurry first, then at leisure.
      if (turn % 10 === 3) await timeline.call('warmedUp')
    }
    expect(timeline.mostChildren()).toBeLessThanOrEqual(5)
    expect(timeline.mostChildren()).toBeGreaterThan(2)
  })

  test('back after next is the identical stop, all the way to the start', async () => {
    const timeline = await open()
    const labels = [...straight.keys()]
    const [far, turns] = isSoak ? [12, 4] : [3, 1]
    await timeline.call('jump', labels[far])
    for (let turn = 0; turn < turns; turn++) {
      expect(await timeline.call('next')).toEqual(straight.get(labels[far + 1] ?? ''))
      expect(await timeline.call('back')).toEqual(straight.get(labels[far] ?? ''))
    }
    for (let index = far - 1; index >= 0; index--)
      expect(await timeline.call('back')).toEqual(straight.get(labels[index] ?? ''))
    expect(await timeline.call('back')).toEqual({ kind: 'start' })
    expect(await timeline.call('back')).toEqual({ kind: 'start' })
    expect(await timeline.call('next')).toEqual(straight.get(labels[0] ?? ''))
  })

  test('a lane is followed to its end and back', async () => {
    const timeline = await open()
    const all = [...straight.values()]
    const first = all.find(({ moment }) => moment.lane > 0) as StoppedPosition
    const lane = all.filter(({ moment }) => moment.lane === first.moment.lane)
    expect(lane.length).toBeGreaterThan(3)
    expect(lane.length).toBeLessThan(STEPS)
    expect(await timeline.call('nextInLane', { lane: first.moment.lane })).toEqual(lane[0])
    for (const stop of lane.slice(1)) expect(await timeline.call('nextInLane')).toEqual(stop)
    expect(await timeline.call('nextInLane')).toEqual({ kind: 'end' })
    const beginning = isSoak ? lane : lane.slice(0, 3)
    await timeline.call('jump', beginning.at(-1)?.moment.label)
    for (const stop of beginning.toReversed().slice(1))
      expect(await timeline.call('backInLane')).toEqual(stop)
    expect(await timeline.call('backInLane')).toEqual({ kind: 'start' })
  })
})

describe('a condition', () => {
  const isTwo = (stop: StoppedPosition): boolean => valueOf(stop, 'name') === '2:3'

  test('is found forward at its first step and backward at its last', async () => {
    const timeline = await open()
    const matching = [...straight.values()].filter(isTwo)
    expect(matching).toHaveLength(2)
    const condition = `name === '2:3'`
    expect(await timeline.call('continue', condition)).toEqual(matching[0])
    expect(await timeline.call('continue', condition)).toEqual(matching[1])
    expect(await timeline.call('continue', condition)).toMatchObject({ kind: 'not found' })
    expect(await timeline.call('position')).toEqual(matching[1])
    expect(await timeline.call('continue')).toEqual({ kind: 'end' })
    expect(await timeline.call('reverseContinue', condition)).toEqual(matching[1])
    expect(await timeline.call('reverseContinue', condition)).toEqual(matching[0])
    expect(await timeline.call('reverseContinue', condition)).toMatchObject({
      kind: 'not found',
      failed: 0,
    })
  })

  test('is searched backward without keyframes, too', async () => {
    const timeline = await open({ keyframes: 0 })
    const [, last] = [...straight.values()].filter(isTwo)
    await timeline.call('continue')
    expect(await timeline.call('reverseContinue', `name === '2:3'`)).toEqual(last)
    expect(timeline.mostChildren()).toBe(1)
  })

  test('that throws is never true, and says what it threw', async () => {
    const timeline = await open()
    const condition = 'nothingOfThisName.length > 0'
    const result = await timeline.call<NotFound>('continue', condition)
    expect(result).toEqual({
      kind: 'not found',
      condition,
      steps: STEPS,
      failed: STEPS,
      message: 'ReferenceError: nothingOfThisName is not defined',
    })
  })

  test('cannot change anything', async () => {
    const timeline = await open()
    const result = await timeline.call<NotFound>('continue', '(total = -1) < 0')
    expect(result.message).toMatch(/side-effect/)
    const last = [...straight.keys()].at(-1) ?? ''
    expect(await timeline.call('jump', last)).toEqual(straight.get(last))
  })
})

describe('inspection', () => {
  test('prints expressions, and what they throw', async () => {
    const timeline = await open()
    await timeline.call('jump', 5)
    const stop = straight.get('5') as StoppedPosition
    expect(await timeline.call('print', 'name')).toMatchObject({
      ok: true,
      value: { json: valueOf(stop, 'name') },
    })
    expect(await timeline.call('print', 'null.length')).toMatchObject({
      ok: false,
      message: expect.stringMatching(/^TypeError: /) as string,
    })
    expect(await timeline.call('print', 'total++')).toMatchObject({ ok: false })
    expect(await timeline.call('locals')).toEqual(stop.locals)
    expect(await timeline.call('stack')).toEqual(stop.stack)
  })

  test('watched expressions are shown at every stop, changed ones marked', async () => {
    const timeline = await open()
    expect(await timeline.call('watch', 'total')).toBeUndefined()
    const totals: unknown[] = []
    for (let turn = 0; turn < 12; turn++) {
      const { watches } = await timeline.call<StoppedPosition>('next')
      const [total] = watches as [Watched]
      const value = total.evaluation.ok ? total.evaluation.value.json : undefined
      expect(total.isChanged).toBe(turn > 0 && value !== totals.at(-1))
      totals.push(value)
    }
    expect(new Set(totals).size).toBeGreaterThan(2)
    expect(new Set(totals).size).toBeLessThan(12)
    const back = await timeline.call<StoppedPosition>('back')
    expect(back.watches[0]?.evaluation).toMatchObject({ value: { json: totals.at(-2) } })
    expect(await timeline.call('unwatch', 'total')).toBe(true)
    expect(await timeline.call<StoppedPosition>('next')).toMatchObject({ watches: [] })
  })

  test('at the start there is nothing to inspect, and a missing step is an error', async () => {
    const timeline = await open({ keyframes: 0 })
    await expect(timeline.call('print', '1')).rejects.toMatchObject({ code: 'NOT_AT_A_STEP' })
    await expect(timeline.call('locals')).rejects.toMatchObject({ code: 'NOT_AT_A_STEP' })
    await expect(timeline.call('jump', STEPS + 1)).rejects.toMatchObject({ code: 'NO_SUCH_STEP' })
  })

  test('a cancelled move changes nothing', async () => {
    const timeline = await open()
    await timeline.call('jump', 3)
    await expect(timeline.callAndAbort(60, 'continue', 'never')).rejects.toMatchObject({
      name: 'TimeoutError',
    })
    expect(await timeline.call('position')).toEqual(straight.get('3'))
    expect(await timeline.call('print', 'name')).toMatchObject({ ok: true })
    expect(await timeline.call('jump', 7)).toEqual(straight.get('7'))
  })

  test('a process that the system ends is replaced', async () => {
    const timeline = await open({ keyframes: 3 })
    await timeline.call('jump', 20)
    await timeline.call('warmedUp')
    for (const pid of timeline.children()) process.kill(pid, 'SIGKILL')
    expect(await timeline.call('jump', 10)).toEqual(straight.get('10'))
    expect(await timeline.call('back')).toMatchObject({ kind: 'stop' })
  })
})

describe('limits', () => {
  test('memory above the limit reduces the keyframes', async () => {
    soakOnly()
    const wide = await open({ keyframes: 6 })
    await wide.call('jump', 20)
    await wide.call('warmedUp')
    const full = await wide.call<TimelineStatus>('status')
    expect(full.parked.length).toBeGreaterThanOrEqual(5)
    expect(full.processes).toBe(wide.children().length)
    const memoryBytes = full.residentBytes / 2
    const narrow = await open({ keyframes: 6, memoryBytes })
    await narrow.call('jump', 20)
    await narrow.call('warmedUp')
    const thin = await narrow.call<TimelineStatus>('status')
    expect(thin.residentBytes).toBeLessThanOrEqual(memoryBytes)
    expect(thin.parked.length).toBeGreaterThan(0)
    expect(thin.parked.length).toBeLessThan(full.parked.length)
    expect(await narrow.call('jump', 3)).toEqual(straight.get('3'))
  })
})

describe('no process is left', () => {
  const ways: readonly (readonly [string, (timeline: TimelineProcess) => Promise<unknown>])[] = [
    ['after it was closed', (timeline) => timeline.call('close')],
    ['after SIGKILL of the controller', (timeline) => timeline.end('SIGKILL')],
    ['after SIGTERM of the controller', (timeline) => timeline.end('SIGTERM')],
    ['after SIGINT of the controller', (timeline) => timeline.end('SIGINT')],
    ['after SIGHUP of the controller', (timeline) => timeline.end('SIGHUP')],
    ['after an exception in the controller', (timeline) => timeline.end('throw')],
    ['after the controller ended without closing', (timeline) => timeline.end('exit')],
  ]

  const merged = ['after it was closed', 'after SIGKILL of the controller']
  test.each(sampled(ways, ([way]) => merged.includes(way)))('%s', async (_, end) => {
    const timeline = await open({ keyframes: 3 })
    await timeline.call('jump', 20)
    const whileWarming = timeline.children()
    await timeline.call('warmedUp')
    const all = [...whileWarming, ...timeline.children()]
    expect(timeline.children().length).toBeGreaterThanOrEqual(3)
    await end(timeline)
    expect(await survivors(all)).toEqual([])
  })

  test('when the controller is killed while keyframes are created, nor a folder after close', async () => {
    const folder = join(workspace.folder, 'tmp')
    if (!existsSync(folder)) mkdirSync(folder)
    const killed = await open({ keyframes: 4 })
    const jump = killed.call('jump', STEPS - 4)
    jump.catch(() => {})
    while (killed.children().length < 2) await new Promise((resolve) => setImmediate(resolve))
    const pids = killed.children()
    await killed.end('SIGKILL')
    expect(await survivors(pids)).toEqual([])
    const closed = await open({ keyframes: 4 }, { TMPDIR: folder })
    await closed.call('jump', STEPS - 4)
    expect(readdirSync(folder).length).toBeGreaterThan(0)
    await closed.call('close')
    expect(readdirSync(folder)).toEqual([])
    await expect(closed.call('next')).rejects.toMatchObject({ code: 'TIMELINE_CLOSED' })
  })
})
