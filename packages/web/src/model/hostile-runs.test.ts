import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type NewEvent, TapeError } from '@retake/tape'
import { openIntactTape, openOwnTape, TapeWriter } from '@retake/tape/node'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { CHAT, delta, RunScript } from '../../test-support/run-script.js'
import { copyAsCurl } from './copy-as-curl.js'
import { RunModel } from './run-model.js'

/** Whatever a tape holds, and whatever became of it: the model answers, or says what is wrong with it. */

const folder = mkdtempSync(path.join(tmpdir(), 'retake-hostile-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const SIDES = ['request', 'response', 'args', 'result', 'output'] as const

/** Everything that can be asked of a run. What it answers can be sent as JSON. */
function askAll(model: RunModel): number {
  let answers = 0
  const request = (question: () => unknown): void => {
    try {
      JSON.stringify(question())
      answers++
    } catch (error) {
      if (!(error instanceof TapeError)) throw error
    }
  }
  request(() => model.head())
  request(() => [...model.rows()])
  request(() => [...model.rows(2)])
  const labels = new Set(['1', '2.1', '0', '-1', 'x', '', '1e9', '__proto__'])
  request(() => {
    for (const { label } of model.view.steps) labels.add(label)
  })
  for (const { label } of model.view.recordedSteps.slice(0, 20)) labels.add(label)
  for (const label of labels) {
    request(() => {
      const detail = model.step(label, { messagesFrom: 0 })
      return detail && [detail, copyAsCurl(detail)]
    })
    request(() => model.stream(label))
    for (const side of SIDES) request(() => model.body(label, side)?.length)
  }
  request(() => model.console())
  request(() => model.files())
  request(() => model.events(0, 200))
  for (const seq of [0, 1, 2, 3, 5, -1, 1.5, NaN, 1e9]) request(() => model.event(seq))
  for (const text of ['a', '\\u0000', '"', 'é', '[']) request(() => [...model.search(text)])
  return answers
}

/** A damaged tape is refused when it is opened, or later. */
function askFile(bytes: Uint8Array): number {
  const file = path.join(folder, 'spoiled.tape')
  writeFileSync(file, bytes)
  let model: RunModel
  try {
    model = new RunModel(openOwnTape(file), { status: 'killed' })
  } catch (error) {
    if (error instanceof TapeError) return 0
    throw error
  }
  return askAll(model)
}

const golden = new URL('../../../../test/golden/', import.meta.url)
const goldenTapes = readdirSync(golden).filter((name) => name.endsWith('.tape'))

describe('a tape', () => {
  test.each(goldenTapes)('of any version is answered: %s', (name) => {
    const isReadable = name !== 'from-the-future.tape'
    expect(askFile(readFileSync(new URL(name, golden))) > 20).toBe(isReadable)
  })

  test('is answered, or refused in words, wherever it was cut or changed', () => {
    const run = new RunScript()
    run.chat([{ role: 'user', content: 'Where is it?' }], 'Here', {
      within: [{ kind: 'agent', name: 'a' }],
    })
    const op = run.request(CHAT, { messages: [] })
    run.answer(op, [delta('one '), delta('two')], { type: 'text/event-stream' })
    run.tool('look', { a: [1] }, new Map([[1, 2]]))
    run.file('fs.readFile', '/a.txt')
    run.output('hello')
    run.model()
    const whole = readFileSync(run.path)
    const tapes = [whole, ...goldenTapes.map((name) => readFileSync(new URL(name, golden)))]
    fc.assert(
      fc.property(
        fc.constantFrom(...tapes),
        fc.nat(),
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 }),
        (bytes, cut, flips) => {
          const spoiled = Uint8Array.from(bytes)
          for (const [index, value] of flips) spoiled[index % spoiled.length] = value
          const left = flips.length > 0 ? spoiled : spoiled.subarray(0, cut % spoiled.length)
          expect(askFile(left)).toBeGreaterThanOrEqual(0)
        },
      ),
      { numRuns: Number(process.env['FC_RUNS'] ?? 150) },
    )
  })
})

test('one damaged step does not hide the others', () => {
  const run = new RunScript()
  run.chat([{ role: 'user', content: 'first' }], 'one')
  run.chat([{ role: 'user', content: 'DAMAGED' }], 'two')
  run.tool('look', {}, 'third')
  run.model()
  const bytes = readFileSync(run.path)
  bytes.write('damaged', bytes.indexOf('DAMAGED'))
  writeFileSync(run.path, bytes)
  const model = new RunModel(openOwnTape(run.path), { status: 'done' })
  expect(model.head().recordedSteps).toBe(3)
  const { value } = model.rows().next()
  const rows = value?.type === 'rows' ? value.rows : undefined
  expect(rows?.label).toEqual(['1', '2', '3'])
  expect(model.step('1')?.conversation?.answer).toHaveLength(1)
  expect(model.step('3')?.call?.result).toBe('third')
  expect(() => model.step('2')).toThrow(TapeError)
  const [last] = [...model.search('third')].slice(-1)
  expect(last).toMatchObject({ done: true, unread: 1 })
})

describe('malformed events', () => {
  const junk = fc.oneof(
    fc.constantFrom<unknown>(null, -1, 1e308, '', '\u0000', [], {}, [null], '__proto__', true),
    fc.constantFrom<unknown>({ $: 'nonsense', v: 1 }, { $: 'Map', v: 7 }, { $: 'bigint', v: 'x' }),
    fc.jsonValue(),
  )
  const error = fc.oneof(
    fc.constant(undefined),
    fc.record({ class: fc.string(), name: fc.string(), message: fc.string(), thrown: junk }),
    fc.record({ class: fc.string(), name: fc.string(), message: fc.string(), stack: fc.string() }),
  )
  const op = fc.nat(12)
  const event = fc.oneof(
    fc.record({ type: fc.constant('draw'), kind: fc.string(), value: junk }),
    fc.record({
      type: fc.constant('request'),
      seam: fc.constantFrom('fetch', 'http'),
      method: fc.constantFrom('POST', 'GET', 'HEAD', "'"),
      url: fc.oneof(fc.string(), fc.constant(CHAT), fc.constant('http://a/mcp')),
      headers: fc.array(fc.tuple(fc.string(), fc.string()), { maxLength: 2 }),
      socket: fc.option(op, { nil: undefined }),
      within: fc.constantFrom(undefined, [{ kind: 'agent', name: 'a' }]),
    }),
    fc.record({
      type: fc.constant('call'),
      kind: fc.constantFrom('tool', 'file', 'process', 'dns'),
      name: fc.string(),
      as: fc.constantFrom(undefined, 'json', 'text', 'bytes'),
      title: fc.option(fc.string(), { nil: undefined }),
    }),
    fc.record({ type: fc.constant('socket'), kind: fc.constant('tcp') }),
    fc.record({ type: fc.constant('timer'), kind: fc.constant('timeout'), ms: fc.integer() }),
    fc.record({
      type: fc.constant('response'),
      op,
      status: fc.constantFrom(200, 404, 0),
      statusText: fc.string(),
      headers: fc.constantFrom(
        [],
        [['content-type', 'text/event-stream']],
        [['content-encoding', 'gzip']],
      ),
    }),
    fc.record({
      type: fc.constant('result'),
      op,
      as: fc.constantFrom(undefined, 'json', 'text', 'bytes'),
      error,
    }),
    fc.record({
      type: fc.constant('deliver'),
      op,
      part: fc.constantFrom('chunk', 'end', 'error', 'exit', 'close', '?'),
      pipe: fc.option(fc.nat(2), { nil: undefined }),
      value: junk,
      error,
    }),
    fc.record({ type: fc.constant('output'), stream: fc.constantFrom('stdout', 'stderr') }),
    fc.record({ type: fc.constant('write'), op }),
    fc.record({
      type: fc.constant('note'),
      kind: fc.constantFrom('mark', 'boundary'),
      name: fc.string(),
    }),
    fc.record({ type: fc.constant('end'), exitCode: fc.integer(), error }),
  )
  const body = fc.oneof(
    fc.constant(''),
    junk.map((value) => JSON.stringify(value) ?? ''),
    fc.constantFrom(delta('x'), '{"messages":[{"role":"user","content":"a"}]}', '{', '[[['),
    fc.string(),
  )
  let count = 0

  test('are answered all the same', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(event, body), { maxLength: 14 }), (events) => {
        const file = path.join(folder, `odd-${count++}.tape`)
        const run = { type: 'run', id: 'r', name: 'n', startedAt: 0, scope: 'process' } as const
        const writer = TapeWriter.create(file, { ...run, node: 'v20' }, {})
        for (const [each, text] of events) {
          const present = Object.entries(each).filter(([, value]) => value !== undefined)
          writer.append(Object.fromEntries(present) as unknown as NewEvent, Buffer.from(text))
        }
        writer.close()
        // Of events that no recorder writes, those before are shown.
        const model = new RunModel(openIntactTape(file), { status: 'killed' })
        expect(askAll(model)).toBeGreaterThan(0)
        rmSync(file)
      }),
      { numRuns: Number(process.env['FC_RUNS'] ?? 150) },
    )
  })

  test.each([500, 3000, 8000, 100_000])(
    'nested %i deep are answered, too',
    (depth) => {
      const deep = `${'['.repeat(depth)}${']'.repeat(depth)}`
      const run = new RunScript()
      const chat = run.request(CHAT, `{"messages":[{"role":"user","content":${deep}}]}`)
      run.answer(chat, [`{"choices":[{"message":{"role":"assistant","content":${deep}}}]}`])
      const call = run.add({ type: 'call', kind: 'tool', name: 'deep', as: 'json' }, deep)
      run.add({ type: 'result', op: call, as: 'json' }, deep)
      const http = run.request('https://example.com/', deep)
      run.answer(http, [deep])
      run.add({ type: 'draw', kind: 'Date.now', value: 1 })
      expect(askAll(run.model())).toBeGreaterThan(20)
    },
    60_000,
  )
})
