import { type CapturedState, getPath } from '@retake/tape'
import { describe, expect, test } from 'vitest'
import { CHAT, delta, RunScript } from '../../test-support/run-script.js'
import type { RunModel } from './run-model.js'
import type { SearchHit } from './run-source.js'

const user = (content: string) => ({ role: 'user', content })

function search(model: RunModel, text: string): SearchHit[] {
  const all = [...model.search(text)]
  expect(all.at(-1)?.done).toBe(true)
  expect(all.slice(0, -1).every(({ done }) => !done)).toBe(true)
  return all.flatMap(({ hits }) => hits)
}

const locations = (model: RunModel, text: string): unknown[] =>
  search(model, text).map(({ step, field, path }) => [step, field, path])

describe('a search finds', () => {
  test('a message at the step where it first stood, not in every later request', () => {
    const run = new RunScript()
    run.chat([user('Refund Zebra 1182')], 'The zebra is refunded.')
    const reported = { role: 'assistant', content: 'The zebra is refunded.' }
    run.chat([user('Refund Zebra 1182'), reported, user('Thanks')], 'Bye')
    expect(locations(run.model(), 'zebra')).toEqual([
      ['1', 'title', 'title'],
      ['1', 'message', 'messages.0.parts.0.text'],
      ['1', 'answer', 'answer.0.parts.0.text'],
    ])
  })

  test('text that is escaped in the recorded bytes, with its location', () => {
    const run = new RunScript()
    run.chat([user('She said "no"\nand left – café')], 'ok')
    const escaped = JSON.stringify({ messages: [user('Grüße')] }).replace('ü', '\\u00fc')
    const op = run.request(CHAT, escaped)
    run.answer(op, ['{}'])
    const model = run.model()
    for (const text of ['"no"\nand', 'CAFÉ', '– c'])
      expect(locations(model, text)).toEqual([['1', 'message', 'messages.0.parts.0.text']])
    expect(locations(model, 'grüße')).toEqual([['2', 'message', 'messages.0.parts.0.text']])
    const [hit] = search(model, '"no"\nand')
    expect(hit?.snippet.slice(hit.start, hit.start + hit.length)).toBe('"no" and')
  })

  test('text that a stream cut anywhere', () => {
    const run = new RunScript()
    const op = run.request(CHAT, { messages: [] })
    run.answer(op, [delta('ref'), delta('und'), delta('able')], { type: 'text/event-stream' })
    const found = locations(run.model(), 'refundable')
    expect(found).toContainEqual(['1', 'answer', 'answer.0.parts.0.text'])
  })

  test('arguments and results by path, keys and numbers too', () => {
    const run = new RunScript()
    run.tool('look', { order: { id: 11_820 }, 'a.b': ['needle'] }, { rows: [{ name: 'x' }, 'pin'] })
    const model = run.model()
    expect(locations(model, '11820').slice(1)).toEqual([['1', 'args', 'args.order.id']])
    expect(locations(model, 'needle').at(-1)).toEqual(['1', 'args', 'args."a.b".0'])
    expect(locations(model, 'pin')).toEqual([['1', 'result', 'result.rows.1']])
    expect(locations(model, 'ROWS')).toEqual([['1', 'result', 'result.rows']])
    const detail = { args: model.step('1')?.call?.args }
    expect(getPath(detail, 'args."a.b".0')).toBe('needle')
  })

  test('bodies, headers and addresses of requests', () => {
    const run = new RunScript()
    const op = run.request('https://shop.example/orders?key=lion', { cart: { owner: 'tiger' } })
    run.answer(op, ['{"stock":["panther"]}'])
    const text = run.request('https://shop.example/b', 'plain text with puma')
    run.answer(text, ['<p>lynx</p>'], { type: 'text/html' })
    const model = run.model()
    expect(locations(model, 'LION')).toEqual([['1', 'title', 'title']])
    expect(locations(model, 'tiger')).toEqual([['1', 'request', 'request.body.cart.owner']])
    expect(locations(model, 'panther')).toEqual([['1', 'response', 'response.body.stock.0']])
    expect(locations(model, 'puma')).toEqual([['2', 'request', 'request.body']])
    expect(locations(model, 'lynx')).toEqual([['2', 'response', 'response.body']])
    expect(locations(model, 'text/html')).toEqual([['2', 'headers', 'response.headers.0']])
    // Both requests have it; it is reported where it first stood.
    expect(locations(model, 'accept: *')).toEqual([['1', 'headers', 'request.headers.0']])
  })

  test('the list of tools once, and parts of a message that are not shown', () => {
    const run = new RunScript()
    const tools = [{ type: 'function', function: { name: 'find_giraffe', parameters: {} } }]
    run.chat([user('a')], 'b', { tools })
    run.chat([{ ...user('a'), name: 'okapi' } as never, user('c')], 'd', { tools })
    const model = run.model()
    expect(locations(model, 'giraffe')).toEqual([
      ['1', 'request', 'request.body.tools.0.function.name'],
    ])
    expect(locations(model, 'okapi')).toEqual([['2', 'request', 'request.body.messages.0.name']])
  })

  test('scopes, marks and errors with their stacks', () => {
    const run = new RunScript()
    run.chat([user('a')], 'b', { within: [{ kind: 'agent', name: 'researcher' }] })
    run.add({ type: 'note', kind: 'mark', name: 'checkpoint', text: 'after the heron' })
    const op = run.add({ type: 'call', kind: 'tool', name: 'pay' })
    const stack = 'Error: no\n    at stork (/app/a.ts:1:1)'
    run.add({ type: 'result', op, error: { class: 'Error', name: 'Error', message: 'no', stack } })
    const model = run.model()
    expect(locations(model, 'researcher')).toEqual([['1', 'scope', 'scopes.0']])
    expect(locations(model, 'heron')).toEqual([['2', 'title', 'title']])
    expect(locations(model, 'stork')).toEqual([['3', 'error', 'failure.stack']])
  })

  test('console output cut in two, and files', () => {
    const run = new RunScript()
    run.output('one flam')
    run.output('warning', 'stderr')
    run.output('ingo\n')
    const file = run.file('fs.readFile', '/data/ibis.txt')
    const model = run.model()
    const [hit, ...others] = search(model, 'flamingo')
    expect(others).toEqual([])
    expect(hit).toMatchObject({ step: undefined, seq: 3, field: 'console', path: '' })
    expect(search(model, 'ibis')).toMatchObject([{ seq: file, field: 'file' }])
  })

  test('captured variables, once while they are unchanged', () => {
    const run = new RunScript()
    run.tool('look', {}, 1)
    run.tool('look', {}, 2)
    const location = { file: '/a.ts', line: 1, column: 1, mapped: false }
    const state = (step: string, json: unknown): CapturedState => ({
      step,
      seq: 1,
      isDirect: true,
      location,
      frames: [
        {
          name: 'main',
          location,
          variables: [{ name: 'cart', scope: 'local', type: 'object', text: '', json, cut: false }],
        },
      ],
      asyncFrames: [],
    })
    const states = [state('1', { items: ['tapir'] }), state('2', { items: ['tapir'] })]
    const hits = [...run.model().search('TAPIR', { states })].flatMap((each) => each.hits)
    expect(hits).toMatchObject([
      { step: '1', field: 'state', path: 'frames.0.variables.0.json.items.0' },
    ])
  })
})

test('a search for characters of patterns is a search for these characters', () => {
  const run = new RunScript()
  run.tool('look', {}, 'a.c (x) [y] {z} ^$ \\d+ | * ? - /')
  const model = run.model()
  for (const text of ['a.c', '(x)', '[y]', '{z}', '^$', '\\d+', '| *', '? -', '- /'])
    expect(search(model, text)).toHaveLength(1)
  expect(search(model, 'abc')).toEqual([])
  expect(search(model, '')).toEqual([])
  expect(search(model, '\uD800')).toEqual([])
})

test('too many hits are cut, with a note', () => {
  const run = new RunScript()
  for (let count = 0; count < 600; count++) run.tool('look', {}, 'needle')
  const all = [...run.model().search('needle')]
  expect(all.flatMap(({ hits }) => hits)).toHaveLength(500)
  expect(all.at(-1)).toMatchObject({ done: true, cut: true, total: 600 })
})

test('a search lets others work, but not at every step', () => {
  const run = new RunScript()
  for (let count = 0; count < 3000; count++) run.tool('look', { count }, 'x'.repeat(500))
  const model = run.model()
  const all = [...model.search('needle')]
  expect(all.at(-1)).toMatchObject({ searched: 3000, total: 3000, cut: false })
  expect(all.length).toBeLessThan(1500)
})
