/**
 * Ways in which recorders of this kind are known to fail. Each `describe` names
 * the failure, its tests say what happens here instead.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readRun } from '@retake/tape'
import type { TapeEvent } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RawRecord, readRecords, writeRecords } from '../support/forge-tape.js'
import { type Provider, startProvider } from '../support/loopback-provider.mjs'
import { runTask, runTasks } from '../support/run-library.mjs'
import { agentPath, makeWorkspace, type Workspace } from '../support/run-retake.mjs'
import { repetitions, sampled } from '../support/soak.js'

const plain = agentPath('library/known-holes.mjs')
const withSdk = agentPath('library/known-sdk-holes.mjs')

let provider: Provider
let workspace: Workspace
beforeAll(async () => {
  provider = await startProvider({ maxLatencyMs: 4 })
  workspace = await makeWorkspace()
})
afterAll(async () => {
  await provider.close()
  await workspace.remove()
})

/** Records one of the agents; gives its output and the path of its tape. */
async function recordAgent(name: string, agent = plain) {
  const { result, stderr } = await runTask(
    { mode: 'record', agent, name, base: provider.url, dir: workspace.folder },
    { cwd: workspace.folder },
  )
  if (result.run === undefined) throw new Error(`not recorded: ${result.error?.message}\n${stderr}`)
  return { output: result.output, tape: result.run.path }
}

interface Replay {
  readonly name: string
  readonly tape: string
  readonly agent?: string
  readonly mode?: 'strict' | 'observe'
  readonly lingerMs?: number
}

const noNetwork = new URL('../support/no-network.mjs', import.meta.url).href
let reports = 0

/** Replays agents in one process, each from its tape. The provider goes on and must not notice. */
async function replayAll(...replays: readonly Replay[]) {
  const before = provider.counts().requests
  const tasks = replays.map(({ agent = plain, mode = 'strict', ...task }) => ({
    mode: 'replay' as const,
    base: provider.url,
    agent,
    options: { mode },
    ...task,
  }))
  const report = join(workspace.folder, `ways-out-${reports++}.json`)
  const { results, stderr } = await runTasks(tasks, {
    cwd: workspace.folder,
    nodeArgs: [`--import=${noNetwork}?report=${encodeURIComponent(report)}`],
  })
  const waysOut = JSON.parse(readFileSync(report, 'utf8')) as Record<string, number>
  return { results, stderr, waysOut, requests: provider.counts().requests - before }
}

async function replayAgent(replay: Replay) {
  const { results, ...rest } = await replayAll(replay)
  return { ...results[0], ...rest }
}

const eventsOf = (tape: string): TapeEvent[] => [...openTape(tape).events()]
const firstSeq = (tape: string, fits: (event: TapeEvent) => boolean): number =>
  eventsOf(tape).find(fits)?.seq ?? Number.NaN

describe('per-type cursors', () => {
  test('a tool called before the model is not accepted because both calls are on the tape', async () => {
    const { tape } = await recordAgent('modelToolModel')
    const { error } = await replayAgent({ name: 'toolModelModel', tape })
    expect(error?.divergence).toMatchObject({ seq: 1, kind: 'unexpected' })
    expect(error?.divergence?.summary).toMatch(/the program did tool call search$/)
  })
})

describe('leftovers accepted', () => {
  test('a program that stops early gets the list of recorded events that never happened', async () => {
    const { tape } = await recordAgent('modelToolModel')
    const { error } = await replayAgent({ name: 'modelTool', tape })
    const afterTool = firstSeq(tape, (event) => event.type === 'result') + 1
    expect(error?.divergence).toMatchObject({ seq: afterTool, kind: 'missing' })
    const rest = openTape(tape).count - afterTool
    expect(error?.divergence?.explanation).toBe(`${rest} recorded events never happened.`)
  })
})

/** Ways to change a recording, of someone who knows the format but has to keep the hashes. */
const forgeries: Readonly<Record<string, (records: readonly RawRecord[]) => RawRecord[]>> = {
  'an edited value': (records) =>
    records.map((record) => ({
      ...record,
      text: record.text.replace(/("kind":"Math.random","value":0\.)\d+/, '$15'),
    })),
  'an edited answer': (records) =>
    records.map((record) => ({
      ...record,
      stored: Buffer.from(
        record.text.includes('"part":"chunk"')
          ? record.stored.toString('latin1').replace('"answer ', '"ANSWER ')
          : record.stored.toString('latin1'),
        'latin1',
      ),
    })),
  'an edited header': (records) =>
    records.map((record) => ({ ...record, text: record.text.replace('"OK"', '"KO"') })),
  'a deleted event': (records) => renumbered(records.filter((_, seq) => seq !== 1)),
  'a repeated event': (records) =>
    renumbered(records.flatMap((record, seq) => (seq === 1 ? [record, record] : [record]))),
  'two events in another order': (records) => renumbered(swapped(records, 1, 2)),
}

const faithful = (records: readonly RawRecord[]): RawRecord[] => [...records]

const renumbered = (records: readonly RawRecord[]): RawRecord[] =>
  records.map((record, seq) => ({ ...record, text: record.text.replace(/\d+/, String(seq)) }))

function swapped(records: readonly RawRecord[], a: number, b: number): RawRecord[] {
  const order = records.map((_, seq) => (seq === a ? b : seq === b ? a : seq))
  return order.map((seq) => records[seq] as RawRecord)
}

describe('edited, deleted or reordered events accepted', () => {
  test('every forgery is refused by verify and by replay, a faithful copy by neither', async () => {
    const { tape, output } = await recordAgent('drawsAndAsks')
    const all = Object.entries({ 'a faithful copy': faithful, ...forgeries })
    const written = all.map(([title, forge]) => {
      const path = `${tape}.${title.replaceAll(' ', '-')}`
      writeRecords(path, forge(readRecords(tape)))
      return { title, path, bytes: readFileSync(path), ...openTape(path).verify() }
    })
    const { results, requests } = await replayAll(
      ...written.map(({ path }) => ({ name: 'drawsAndAsks', tape: path })),
    )
    const [copy, ...forged] = written
    expect(copy).toMatchObject({ ok: true })
    expect(results[0]).toMatchObject({ output, divergences: [] })
    for (const [index, { title, bytes, ok, problem }] of forged.entries()) {
      expect(copy?.bytes.equals(bytes), `${title} changes nothing`).toBe(false)
      expect(ok, title).toBe(false)
      const { error } = results[index + 1] ?? {}
      expect(error, title).toMatchObject({ name: 'TapeError', code: 'TAPE_CORRUPT' })
      expect(error?.message).toContain(`at event ${problem?.seq}`)
    }
    expect(requests).toBe(0)
  })

  test('replay never writes the tape it reads, whatever it finds', async () => {
    const { tape } = await recordAgent('quiet')
    const digest = () => createHash('sha256').update(readFileSync(tape)).digest('hex')
    const before = digest()
    await replayAll(
      { name: 'quiet', tape },
      { name: 'loud', tape },
      { name: 'loud', tape, mode: 'observe' },
    )
    expect(digest()).toBe(before)
  })
})

describe('a torn last line that makes the recording unloadable', () => {
  test('a recording cut anywhere loads up to its last complete event, and replays that far', async () => {
    const { tape, output } = await recordAgent('modelToolModel')
    const bytes = readFileSync(tape)
    const marks = ['"type":"request"', '"type":"call"', '"type":"result"', '"type":"end"']
    const torn = marks.map((mark, index) => {
      const path = `${tape}.torn-${index}`
      writeFileSync(path, bytes.subarray(0, bytes.indexOf(mark) + 4))
      return openTape(path)
    })
    for (const cut of torn) {
      expect(cut.status).toBe('truncated')
      expect(cut.tornBytes).toBeGreaterThan(0)
      expect(cut.verify()).toMatchObject({ ok: true, count: cut.count })
    }
    const { results, requests } = await replayAll(
      ...torn.map(({ path }) => ({ name: 'modelToolModel', tape: path })),
    )
    expect(results.map(({ error }) => error?.divergence?.seq)).toEqual([
      ...torn.slice(0, -1).map(({ count }) => count),
      // Only the end itself is missing: the program comes to it all the same.
      undefined,
    ])
    expect(results.slice(0, -1).map(({ error }) => error?.divergence?.kind)).toEqual([
      'cut-off',
      'cut-off',
      'cut-off',
    ])
    expect(results.at(-1)).toMatchObject({ output, divergences: [] })
    expect(requests).toBe(0)
  })
})

describe('repeated identical calls that all get the first answer', () => {
  test('two identical calls get their own two answers', async () => {
    const { tape, output } = await recordAgent('sameTwice')
    for (const [first, second] of Object.values(output as Record<string, unknown[]>)) {
      expect(first).not.toEqual(second)
    }
    expect(await replayAgent({ name: 'sameTwice', tape })).toMatchObject({
      output,
      divergences: [],
    })
  })

  const rounds = repetitions('RETAKE_ROUNDS', { beforeMerge: 1, soak: 20 })
  test(`identical concurrent calls each get their own answer, ${rounds} times`, async () => {
    for (let round = 1; round <= rounds; round++) {
      const { tape, output } = await recordAgent('sameAtOnce')
      const { answers } = output as { answers: { random: number }[] }
      expect(new Set(answers.map(({ random }) => random)).size).toBe(answers.length)
      const replayed = await replayAgent({ name: 'sameAtOnce', tape })
      expect(replayed, `round ${round}`).toMatchObject({ output, divergences: [] })
    }
  })
})

describe('a miss that executes live', () => {
  test.each([
    ['strict', /the program did GET .*\/echo$/],
    // It goes on to the last attempt: none of those before has hung.
    ['observe', /the program did tool call charge$/],
  ] as const)('nothing new that the program tries reaches the outside: %s', async (mode, last) => {
    const { tape } = await recordAgent('quiet')
    const kept = join(workspace.folder, 'kept.txt')
    writeFileSync(kept, 'kept')
    const replayed = await replayAgent({ name: 'loud', tape, mode })
    const { divergences = [], stderr, waysOut, requests } = replayed
    const end = firstSeq(tape, (event) => event.type === 'end')
    expect(divergences[0]).toMatchObject({ seq: end, kind: 'unexpected' })
    expect(divergences[0]?.summary).toMatch(/the program did GET .*\/echo$/)
    expect(divergences.at(-1)?.summary).toMatch(last)
    expect(stderr).toBe('')
    expect(waysOut).toEqual({})
    expect(requests).toBe(0)
    expect(existsSync(join(workspace.folder, 'written.txt'))).toBe(false)
    expect(existsSync(kept)).toBe(true)
  })

  test.each(sampled(['strict', 'observe'] as const, (mode) => mode === 'observe'))(
    'a client that retries after a divergence reaches nothing: %s',
    async (mode) => {
      const { tape } = await recordAgent('asks', withSdk)
      const name = 'asksSomethingElse'
      // Longer than the client waits the first time.
      const replayed = await replayAgent({ agent: withSdk, name, tape, mode, lingerMs: 1200 })
      expect(replayed.divergences).toHaveLength(1)
      expect(replayed.requests).toBe(0)
    },
  )

  test('work left behind by a replayed run does not go live after its end', async () => {
    const { tape, output } = await recordAgent('leavesWorkBehind')
    const replayed = await replayAgent({ name: 'leavesWorkBehind', tape, lingerMs: 500 })
    expect(replayed).toMatchObject({ output, divergences: [], requests: 0 })
  })
})

describe('a missing recording that is read as an empty one', () => {
  test('a file that is missing, empty or not a tape is an error that says so', async () => {
    const nowhere = join(workspace.folder, 'nowhere.tape')
    const empty = join(workspace.folder, 'empty.tape')
    writeFileSync(empty, '')
    const { results, requests } = await replayAll(
      ...[nowhere, empty, workspace.folder, plain].map((tape) => ({ name: 'quiet', tape })),
    )
    expect(results.map(({ error }) => error?.code)).toEqual([
      'TAPE_MISSING',
      'TAPE_EMPTY',
      'TAPE_IS_DIRECTORY',
      'TAPE_NOT_A_TAPE',
    ])
    expect(results[0]?.error?.message).toContain(nowhere)
    expect(requests).toBe(0)
  })
})

describe('recorded errors that come back as a generic class', () => {
  interface Seen {
    readonly class: string
    readonly instanceOf: readonly string[]
    readonly code?: unknown
    readonly causeCode?: string
    readonly fields: Readonly<Record<string, unknown>>
  }

  test('every error has its class, code, message, cause, fields and stack', async () => {
    const { tape, output } = await recordAgent('errors', withSdk)
    const seen = output as Readonly<Record<string, Seen>>
    expect(seen).toMatchObject({
      refused: { class: 'TypeError', instanceOf: ['TypeError'], causeCode: 'ECONNREFUSED' },
      reset: { class: 'TypeError', causeCode: expect.any(String) as string },
      cut: { class: 'TypeError' },
      timeout: { class: 'DOMException', instanceOf: ['DOMException'], code: 23 },
      abort: { class: 'DOMException', instanceOf: ['DOMException'], code: 20 },
      'http refused': { code: 'ECONNREFUSED', fields: { syscall: 'connect', port: 2 } },
      'rate limit': { instanceOf: ['RateLimitError', 'APIError'], fields: { status: 429 } },
      'no connection': { instanceOf: ['APIConnectionError'] },
      own: { instanceOf: ['OrderNotFound', 'RangeError'], fields: { order: 1182 } },
      system: { code: 'ENOENT', fields: { errno: -2, path: '/orders' } },
      many: { instanceOf: ['AggregateError'] },
      dom: { instanceOf: ['DOMException', 'Error'], code: 22 },
      text: { class: 'String' },
    })
    const replayed = await replayAgent({ agent: withSdk, name: 'errors', tape })
    expect(replayed.output ?? replayed.error?.message).toEqual(output)
  })
})

describe('tool-call ids lost', () => {
  test('ids that the agent sends back are those of the recorded answers', async () => {
    const { tape, output } = await recordAgent('toolCallIds', withSdk)
    const { ids, claude } = output as { ids: string[]; claude: { ids: string[] } }
    expect(ids.length).toBeGreaterThan(0)
    expect(claude.ids.length).toBeGreaterThan(0)
    const opened = openTape(tape)
    const requests = eventsOf(tape)
      .filter(({ type }) => type === 'request')
      .map(({ seq }) => Buffer.from(opened.body(seq)).toString())
    for (const id of ids) expect(requests.join('\n')).toContain(`"tool_call_id":"${id}"`)
    for (const id of claude.ids) expect(requests.at(-1)).toContain(`"tool_use_id":"${id}"`)
    // The answers are whole: ids, usage, log probabilities and headers too.
    const replayed = await replayAgent({ agent: withSdk, name: 'toolCallIds', tape })
    expect(replayed).toMatchObject({ output, divergences: [] })
  })
})

describe('results of tools that become strings', () => {
  test('dates, maps, sets, bytes, big integers and undefined come back as themselves', async () => {
    const { tape, output } = await recordAgent('anyResult')
    expect(output).toMatchObject({
      date: expect.stringMatching(/^\[object Date] \d{4}-/) as string,
      map: expect.stringMatching(/^\[object Map] Map\(1\) \{ 'a' => Set\(3\)/) as string,
      bytes: expect.stringMatching(/^\[object Uint8Array] Uint8Array\(8\)/) as string,
      buffer: '[object Uint8Array] <Buffer c3 bc e2 98 83>',
      bigint: '[object BigInt] 1180591620717411303424n',
      nothing: '[object Undefined] undefined',
      null: '[object Null] null',
      numbers: '[object Array] [ NaN, -0, Infinity, 1e-7 ]',
      text: `[object String] 'plain'`,
    })
    const replayed = await replayAgent({ name: 'anyResult', tape })
    expect(replayed).toMatchObject({ output, divergences: [] })
  })
})

describe('an unknown model that is given a known price', () => {
  test('its cost is unknown, and so is the cost of the run', async () => {
    const { tape } = await recordAgent('twoModels')
    const run = readRun(openTape(tape))
    const costs = run.steps.map(({ model, costUsd }) => [model, costUsd])
    expect(costs).toEqual([
      ['gpt-4o-mini', expect.any(Number)],
      ['gpt-nobody-knows', undefined],
    ])
    expect(run.totals).toMatchObject({ costUsd: undefined, unknownCost: ['2'] })
    expect(run.totals.knownCostUsd).toBeGreaterThan(0)
  })
})
