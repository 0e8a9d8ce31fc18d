import { describe, expect, test } from 'vitest'
import { CHAT, delta, RunScript } from '../../test-support/run-script.js'

const system = { role: 'system', content: 'You answer about orders.' }
const user = (content: string) => ({ role: 'user', content })
const assistant = (content: string) => ({ role: 'assistant', content })

describe('the new part of a conversation', () => {
  test('follows the last request and its answer', () => {
    const run = new RunScript()
    run.chat([system, user('Where is order 1182?')], 'On its way.')
    run.chat(
      [system, user('Where is order 1182?'), assistant('On its way.'), user('When?')],
      'Soon',
    )
    const model = run.model()
    expect(model.step('1')?.conversation).toMatchObject({ total: 2, newFrom: 0 })
    expect(model.step('2')?.conversation).toMatchObject({ total: 4, newFrom: 3 })
  })

  test('is everything where only the instructions are the same', () => {
    const run = new RunScript()
    run.chat([system, user('Where is order 1182?')], 'On its way.')
    run.chat([system, user('Where is order 7?')], 'Lost.')
    expect(run.model().step('2')?.conversation?.newFrom).toBe(0)
  })

  test('is empty if the same request is repeated', () => {
    const run = new RunScript()
    run.chat([system, user('Where?')], 'On its way.')
    run.chat([system, user('Where?')], 'On its way.')
    expect(run.model().step('2')?.conversation).toMatchObject({ total: 2, newFrom: 2 })
  })

  test('is found where the history was shortened', () => {
    const run = new RunScript()
    run.chat([system, user('a'), assistant('b'), user('c')], 'd')
    run.chat([system, user('c'), assistant('d'), user('e')], 'f')
    expect(run.model().step('2')?.conversation?.newFrom).toBe(3)
  })

  test('is found behind requests of another conversation', () => {
    const run = new RunScript()
    run.chat([user('a')], 'b')
    run.chat([user('x')], 'y')
    run.chat([user('a'), assistant('b'), user('c')], 'd')
    expect(run.model().step('3')?.conversation?.newFrom).toBe(2)
  })

  test('begins with an answer that was changed before it was sent back', () => {
    const run = new RunScript()
    run.chat([user('a')], 'b')
    run.chat([user('a'), assistant('B, rather'), user('c')], 'd')
    expect(run.model().step('2')?.conversation?.newFrom).toBe(1)
  })
})

describe('a long conversation', () => {
  const many = Array.from({ length: 1500 }, (_, index) => user(`question ${index}`))

  test('shows its end, and more on request', () => {
    const run = new RunScript()
    run.chat(many, 'ok')
    const model = run.model()
    const end = model.step('1')?.conversation
    expect(end).toMatchObject({ total: 1500, from: 1440 })
    expect(end?.messages).toHaveLength(60)
    expect(model.step('1', { messagesFrom: 1000 })?.conversation?.messages).toHaveLength(500)
    const start = model.step('1', { messagesFrom: 0 })?.conversation
    expect(start?.messages).toHaveLength(1000)
    expect(start).toMatchObject({ total: 1500, from: 0 })
    expect(model.step('1', { messagesFrom: 99_999 })?.conversation?.messages).toEqual([])
    expect(model.step('1', { messagesFrom: NaN })?.conversation?.from).toBe(0)
  })
})

test('a message of 20 MB is shown by its beginning and length', () => {
  const run = new RunScript()
  run.chat([user('x'.repeat(20_000_000))], 'y'.repeat(20_000_000))
  run.tool('read', { path: 'z'.repeat(1_000_000) }, 'w'.repeat(20_000_000))
  const model = run.model()
  const chat = model.step('1')
  const [message] = chat?.conversation?.messages ?? []
  expect(message?.parts[0]).toMatchObject({ text: { $clipped: { length: 20_000_000 } } })
  expect(JSON.stringify(chat).length).toBeLessThan(1_000_000)
  expect(JSON.stringify(model.step('2')).length).toBeLessThan(200_000)
  expect(chat?.request?.body).toMatchObject({ clipped: true, form: 'json' })
})

describe('a failure', () => {
  const stack = `Error: connect ECONNREFUSED
    at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1637:16)
    at call (/app/node_modules/sdk/index.js:3:4)
    at async ask (file:///app/src/my%20agent.ts:12:5)`

  test('of a request is shown with its stack, and leads to the line of the agent', () => {
    const run = new RunScript()
    const op = run.request(CHAT, { messages: [] })
    const cause = { class: 'Error', name: 'Error', message: 'refused', code: 'ECONNREFUSED', stack }
    run.add({
      type: 'deliver',
      op,
      part: 'error',
      error: { class: 'TypeError', name: 'TypeError', message: 'fetch failed', cause },
    })
    const step = run.model().step('1')
    expect(step?.failure).toMatchObject({ message: 'fetch failed', cause: { stack } })
    expect(step?.site).toBe('/app/src/my agent.ts:12:5')
    expect(step?.state).toBe('failed')
  })

  test('of a tool keeps its call site', () => {
    const run = new RunScript()
    const op = run.add({ type: 'call', kind: 'tool', name: 'pay', site: '/app/tools.ts:3:1' })
    run.add({ type: 'result', op, error: { class: 'Error', name: 'Error', message: 'no', stack } })
    const step = run.model().step('1')
    expect(step).toMatchObject({
      site: '/app/tools.ts:3:1',
      failure: { message: 'no' },
      tool: 'pay',
    })
  })
})

test('the output of a process is text, or marked as binary', () => {
  const run = new RunScript()
  const op = run.add({ type: 'call', kind: 'process', name: 'spawn', title: 'ls' })
  const euro = new TextEncoder().encode('€')
  run.add({ type: 'deliver', op, part: 'chunk', pipe: 1 }, euro.subarray(0, 1))
  run.add({ type: 'deliver', op, part: 'chunk', pipe: 2 }, 'warning')
  run.add({ type: 'deliver', op, part: 'chunk', pipe: 1 }, euro.subarray(1))
  run.add({ type: 'deliver', op, part: 'chunk', pipe: 1 }, Uint8Array.of(0xff, 65))
  run.add({ type: 'deliver', op, part: 'exit', value: [0, null] })
  const call = run.model().step('1')?.call
  expect(call?.output.map(({ pipe, text, isLossy }) => [pipe, text, isLossy])).toEqual([
    [1, '', undefined],
    [2, 'warning', undefined],
    [1, '€', undefined],
    [1, '\uFFFDA', true],
  ])
})

test('long output of a process is cut, with its size', () => {
  const run = new RunScript()
  const op = run.add({ type: 'call', kind: 'process', name: 'spawn', title: 'yes' })
  for (let count = 0; count < 10; count++)
    run.add({ type: 'deliver', op, part: 'chunk', pipe: 1 }, 'y\n'.repeat(50_000))
  const model = run.model()
  const call = model.step('1')?.call
  expect(call?.outputBytes).toBe(1_000_000)
  expect(call?.output.reduce((sum, { text }) => sum + text.length, 0)).toBe(262_144)
  expect(model.body('1', 'output')).toHaveLength(1_000_000)
})

test('a body that is not text is binary and can be downloaded', () => {
  const run = new RunScript()
  const bytes = Uint8Array.of(0x89, 0x50, 0xff, 0)
  const op = run.request('https://example.com/upload', bytes)
  run.answer(op, [bytes], { type: 'image/png' })
  const model = run.model()
  expect(model.step('1')?.request?.body).toEqual({
    bytes: 4,
    form: 'binary',
    text: '',
    clipped: false,
  })
  expect([...(model.body('1', 'request') ?? [])]).toEqual([...bytes])
  expect([...(model.body('1', 'response') ?? [])]).toEqual([...bytes])
})

test('JSON that is too deep for other readers can still be shown as a tree', () => {
  const run = new RunScript()
  const deep = `${'['.repeat(5000)}${']'.repeat(5000)}`
  run.answer(run.request('https://example.com/', deep), [deep])
  const { request, response } = run.model().step('1') ?? {}
  expect([request?.body.form, response?.body.form]).toEqual(['json', 'json'])
})

test('the first events of a stream are listed with their times', () => {
  const run = new RunScript()
  const op = run.request(CHAT, { messages: [] })
  const pieces = Array.from({ length: 700 }, (_, index) => delta(`word ${index} `))
  run.answer(op, pieces, { type: 'text/event-stream' })
  const model = run.model()
  const events = model.step('1')?.response?.events
  expect(events).toMatchObject({ total: 700 })
  expect(events?.events).toHaveLength(300)
  expect(events?.events[0]).toMatchObject({ at: 2, event: 'message' })
})

test('the values of a tool can be downloaded: text as text, bytes as bytes, all else as JSON', () => {
  const run = new RunScript()
  run.tool('read', { path: 'a', when: new Date(0), size: 10n }, 'line\n'.repeat(50_000))
  run.tool('bytes', [], Buffer.from([1, 2, 255]))
  const model = run.model()
  expect(model.body('1', 'result')).toHaveLength(250_000)
  expect(new TextDecoder().decode(model.body('1', 'args'))).toBe(
    JSON.stringify({ path: 'a', when: '1970-01-01T00:00:00.000Z', size: '10' }, undefined, 2),
  )
  expect([...(model.body('2', 'result') ?? [])]).toEqual([1, 2, 255])
  expect(model.body('1', 'request')).toBeUndefined()
  expect(model.step('1')?.title).toContain('"size":"10"')
})

test('an MCP request is shown with its parameters, answer and progress', () => {
  const run = new RunScript()
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call' }
  const params = { name: 'search_docs', arguments: { query: 'x'.repeat(50_000) } }
  const op = run.request('http://127.0.0.1:1/mcp', { ...call, params })
  const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1 } }
  const answer = { jsonrpc: '2.0', id: 1, error: { code: -32000, message: 'no index' } }
  const pieces = [progress, answer].map((each) => `data: ${JSON.stringify(each)}\n\n`)
  run.answer(op, pieces, { type: 'text/event-stream' })
  const step = run.model().step('1')
  expect(step).toMatchObject({ kind: 'tool', tool: 'search_docs', state: 'failed' })
  expect(step?.mcp).toMatchObject({
    transport: 'http',
    params: { arguments: { query: { $clipped: { length: 50_000 } } } },
    error: { code: -32000, message: 'no index' },
    notifications: [{ method: 'notifications/progress' }],
  })
  expect(step?.call?.error).toMatchObject({ message: 'no index' })
})

test('during a run, a step without an answer is running', () => {
  const run = new RunScript()
  run.request(CHAT, { messages: [user('a')] })
  const model = run.killed({ status: 'recording' })
  expect(model.step('1')?.state).toBe('running')
  expect(new RunScript().killed().step('1')).toBeUndefined()
})
