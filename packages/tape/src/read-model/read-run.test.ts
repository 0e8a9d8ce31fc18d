import { gzipSync, gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { EventScript } from '../../test-support/event-script.js'
import { recordError } from '../format/values/to-wire.js'
import { toWire } from '../format/values/to-wire.js'
import { readRun } from './run-view.js'
import { SITE_NOTE } from '../format/events.js'

const CHAT = 'http://127.0.0.1:4010/v1/chat/completions'
const MESSAGES = 'http://127.0.0.1:4010/v1/messages'

const user = { role: 'user', content: 'Where is order 1182?' }
const call = (id: string, name: string, args: unknown) => ({
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(args) },
})
const asks = (...calls: ReturnType<typeof call>[]) => ({
  role: 'assistant',
  content: null,
  tool_calls: calls,
})
const told = (id: string, content: string) => ({ role: 'tool', tool_call_id: id, content })
const chat = (...messages: object[]) => ({ model: 'gpt-5-mini', messages })
const completion = (
  message: object,
  usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 },
): string =>
  JSON.stringify({
    object: 'chat.completion',
    model: 'gpt-5-mini-2025-08-07',
    choices: [
      { index: 0, message, finish_reason: 'tool_calls' in message ? 'tool_calls' : 'stop' },
    ],
    usage,
  })
const says = (content: string) => ({ role: 'assistant', content })

const titles = (tape: EventScript): string[] =>
  readRun(tape).steps.map(({ label, title }) => `${label} ${title}`)

describe('a run with a wrapped tool', () => {
  const script = (): EventScript => {
    const tape = new EventScript()
    const first = tape.request(CHAT, chat(user))
    tape.wait(200).answer(first, [completion(asks(call('c1', 'lookup_order', { id: '1182' })))])
    const tool = tape.tool('lookup_order', { id: '1182' })
    tape.wait(30).result(tool, { state: 'shipped' })
    const second = tape.request(
      CHAT,
      chat(user, asks(call('c1', 'lookup_order', { id: '1182' })), told('c1', 'shipped')),
    )
    tape.wait(100).answer(second, [completion(says('It is on its way.'))])
    tape.add({ type: 'output', stream: 'stdout' }, 'It is on its way.\n')
    return tape.end()
  }

  test('becomes numbered steps with titles', () => {
    expect(titles(script())).toEqual([
      '1 gpt-5-mini-2025-08-07 → 1 tool call: lookup_order',
      '2 lookup_order({"id":"1182"})',
      '3 gpt-5-mini-2025-08-07 → “It is on its way.”',
    ])
  })

  test('has kinds, times, states, parents and one lane', () => {
    const { steps, lanes } = readRun(script())
    expect(
      steps.map(({ kind, state, parent, lane, inferred }) => [kind, state, parent, lane, inferred]),
    ).toEqual([
      ['model', 'done', undefined, 0, false],
      ['tool', 'done', '1', 0, false],
      ['model', 'done', undefined, 0, false],
    ])
    const [first] = steps
    expect(first?.timeToFirstChunkMs).toBe(202)
    expect(first?.latencyMs).toBe(203)
    expect(first?.startedAt).toBe(1_760_000_000_001)
    expect(lanes).toHaveLength(1)
  })

  test('adds up tokens and cost', () => {
    const { totals } = readRun(script())
    expect(totals).toMatchObject({ modelCalls: 2, toolCalls: 1, unknownCost: [] })
    expect(totals.usage).toMatchObject({ input: 200, output: 20 })
    expect(totals.costUsd).toBeCloseTo((200 * 0.25 + 20 * 2) / 1e6, 12)
  })

  test('does not know the cost of the run when it does not know the cost of one step', () => {
    const tape = new EventScript()
    tape.answer(tape.request(CHAT, chat(user)), [completion(says('a'))])
    tape.answer(tape.request(CHAT, chat(user)), [
      completion(says('b')).replace('gpt-5-mini-2025-08-07', 'my-model'),
    ])
    const { totals } = readRun(tape.end())
    expect(totals.costUsd).toBeUndefined()
    expect(totals.knownCostUsd).toBeGreaterThan(0)
    expect(totals.unknownCost).toEqual(['2'])
    expect(
      readRun(tape, { prices: { 'my-model': { input: 0, output: 0 } } }).totals.costUsd,
    ).toBeGreaterThan(0)
  })

  test('describes itself', () => {
    const view = readRun(script())
    expect(view).toMatchObject({
      id: 'run-1',
      name: 'refund',
      status: 'sealed',
      node: 'v20.20.2',
      exit: { code: 0 },
    })
    expect(view.counts).toMatchObject({ request: 2, call: 1, output: 1, run: 1, end: 1 })
    expect(
      view.outputs.map((output) => new TextDecoder().decode(view.outputBytes(output))),
    ).toEqual(['It is on its way.\n'])
    expect(view.durationMs).toBe(view.outputs.at(-1)!.at + 1)
    expect(view.step('2')?.kind).toBe('tool')
    expect(view.step(9)).toBeUndefined()
  })

  test('shows an exchange in full', () => {
    const exchange = readRun(script()).steps[2]?.exchange()
    expect(exchange?.request).toMatchObject({
      method: 'POST',
      url: CHAT,
      json: { model: 'gpt-5-mini' },
    })
    expect(exchange?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
    expect(exchange?.response).toMatchObject({ status: 200, complete: true })
    expect(exchange?.response?.chunks).toHaveLength(1)
    expect(exchange?.answer).toEqual([
      { role: 'assistant', parts: [{ type: 'text', text: 'It is on its way.' }] },
    ])
    expect(exchange?.usage).toMatchObject({ input: 100, output: 10 })
    expect(exchange?.finishReason).toBe('stop')
    expect(readRun(script()).steps[1]?.call()).toMatchObject({
      args: { id: '1182' },
      result: { state: 'shipped' },
    })
  })
})

test('the step before an event is the last that began at or before it', () => {
  const tape = new EventScript()
  const first = tape.request(CHAT, chat(user))
  tape.answer(first, [completion(says('ok'))])
  const second = tape.request(CHAT, chat(user))
  const view = readRun(tape.end())
  expect(view.stepBefore(first - 1)).toBeUndefined()
  expect([first, second - 1, second, second + 9].map((seq) => view.stepBefore(seq)?.label)).toEqual(
    ['1', '1', '2', '2'],
  )
})

describe('reading is lazy', () => {
  test('making a view and counting steps reads no body', () => {
    const tape = new EventScript()
    for (let turn = 0; turn < 50; turn++)
      tape.answer(tape.request(CHAT, chat(user)), [completion(says('ok'))])
    const view = readRun(tape.end())
    expect(view.recordedSteps).toHaveLength(50)
    expect(view.lanes).toHaveLength(1)
    expect(tape.bodyReads).toEqual([])
    expect(view.recordedSteps[7]?.title).toContain('ok')
    expect(new Set(tape.bodyReads).size).toBeLessThanOrEqual(2)
  })

  test('titles are decoded once', () => {
    const tape = new EventScript()
    tape.answer(tape.request('https://api.openai.com/v1/chat/completions', chat(user)), [
      completion(says('ok')),
    ])
    const [step] = readRun(tape.end()).recordedSteps
    expect(step?.title).toBe(step?.title)
    expect(step?.state).toBe('done')
    expect(tape.bodyReads).toHaveLength(1)
  })

  test('a hundred thousand events are read quickly', () => {
    const tape = new EventScript()
    for (let turn = 0; turn < 250; turn++) {
      const op = tape.request(CHAT, chat(user))
      tape.head(op, { type: 'text/event-stream' })
      for (let piece = 0; piece < 398; piece++) tape.chunk(op, 'data: {}\n\n')
    }
    const started = performance.now()
    const view = readRun(tape.end())
    expect(view.recordedSteps).toHaveLength(250)
    expect(view.lanes).toHaveLength(1)
    expect(performance.now() - started).toBeLessThan(5_000)
    expect(tape.count).toBeGreaterThan(100_000)
  })
})

describe('tool calls that were not wrapped', () => {
  const lookup = call('c1', 'lookup_order', { id: '1182' })
  const search = call('c2', 'search_policy', { q: 'refund' })

  test('are inferred from the conversation and listed under the step that called them', () => {
    const tape = new EventScript()
    tape.wait(10).answer(tape.request(CHAT, chat(user)), [completion(asks(lookup, search))])
    const second = tape
      .wait(40)
      .request(CHAT, chat(user, asks(lookup, search), told('c1', 'shipped'), told('c2', 'none')))
    tape.answer(second, [completion(says('Done.'))])
    const view = readRun(tape.end())
    expect(view.steps.map(({ label, kind, inferred }) => `${label} ${kind} ${inferred}`)).toEqual([
      '1 model false',
      '1.1 tool true',
      '1.2 tool true',
      '2 model false',
    ])
    expect(view.steps[1]).toMatchObject({
      title: 'lookup_order({"id":"1182"})',
      parent: '1',
      state: 'done',
      latencyMs: 41,
    })
    expect(view.steps[2]?.call()).toMatchObject({ args: { q: 'refund' }, result: 'none' })
    expect(view.totals.toolCalls).toBe(2)
    expect(view.step('1.2')?.title).toContain('search_policy')
    expect(view.recordedSteps).toHaveLength(2)
  })

  test('are not counted twice when the same tool was recorded', () => {
    const tape = new EventScript()
    tape.answer(tape.request(CHAT, chat(user)), [completion(asks(lookup, search))])
    const tool = tape.tool('lookup_order', { id: '1182' })
    tape.result(tool, 'shipped')
    tape.answer(
      tape.request(
        CHAT,
        chat(user, asks(lookup, search), told('c1', 'shipped'), told('c2', 'none')),
      ),
      [completion(says('Done.'))],
    )
    expect(titles(tape.end())).toEqual([
      '1 gpt-5-mini-2025-08-07 → 2 tool calls: lookup_order, search_policy',
      '1.1 search_policy({"q":"refund"})',
      '2 lookup_order({"id":"1182"})',
      '3 gpt-5-mini-2025-08-07 → “Done.”',
    ])
  })

  test('count as recorded when the tool filled in defaults or got more arguments', () => {
    const tape = new EventScript()
    tape.answer(tape.request(CHAT, chat(user)), [completion(asks(lookup, search))])
    tape.result(tape.tool('lookup_order', { id: '1182', verbose: false }), 'shipped')
    tape.result(tape.tool('search_policy', [{ q: 'refund' }, { signal: null }]), 'none')
    tape.answer(
      tape.request(
        CHAT,
        chat(user, asks(lookup, search), told('c1', 'shipped'), told('c2', 'none')),
      ),
      [completion(says('Done.'))],
    )
    expect(readRun(tape.end()).steps.map(({ label }) => label)).toEqual(['1', '2', '3', '4'])
  })

  test('each recorded tool answers one call only', () => {
    const again = call('c3', 'lookup_order', { id: '1182' })
    const tape = new EventScript()
    tape.answer(tape.request(CHAT, chat(user)), [completion(asks(lookup))])
    tape.result(tape.tool('lookup_order', { id: '1182' }), 'shipped')
    tape.answer(tape.request(CHAT, chat(user, asks(lookup), told('c1', 'shipped'))), [
      completion(asks(again)),
    ])
    tape.answer(
      tape.request(
        CHAT,
        chat(user, asks(lookup), told('c1', 'shipped'), asks(again), told('c3', 'shipped')),
      ),
      [completion(says('Done.'))],
    )
    expect(readRun(tape.end()).steps.map(({ label }) => label)).toEqual(['1', '2', '3', '3.1', '4'])
  })

  test('the recorded tool with the same arguments takes the call', () => {
    const other = call('c9', 'lookup_order', { id: '77' })
    const tape = new EventScript()
    tape.answer(tape.request(CHAT, chat(user)), [completion(asks(other, lookup, lookup))])
    tape.result(tape.tool('lookup_order', { id: '1182' }), 'shipped')
    const messages = [user, asks(other, lookup), told('c9', 'lost'), told('c1', 'shipped')]
    tape.answer(tape.request(CHAT, chat(...messages)), [completion(says('Done.'))])
    expect(titles(tape.end())).toEqual([
      '1 gpt-5-mini-2025-08-07 → 3 tool calls: lookup_order, lookup_order, lookup_order',
      '1.1 lookup_order({"id":"77"})',
      '1.2 lookup_order({"id":"1182"})',
      '2 lookup_order({"id":"1182"})',
      '3 gpt-5-mini-2025-08-07 → “Done.”',
    ])
  })

  test('without an answer are not steps', () => {
    const tape = new EventScript()
    tape.answer(tape.request(CHAT, chat(user)), [completion(asks(lookup))])
    tape.answer(tape.request(CHAT, chat(user, asks(lookup), user)), [completion(asks(lookup))])
    expect(readRun(tape.end()).steps).toHaveLength(2)
  })

  test('of Anthropic show their failure', () => {
    const asked = {
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'toolu_1', name: 'lookup_order', input: { id: 'x' } }],
    }
    const failed = {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_1', content: 'no such order', is_error: true },
      ],
    }
    const answer = {
      ...asked,
      type: 'message',
      model: 'claude-sonnet-4-5',
      stop_reason: 'tool_use',
      usage: { input_tokens: 1, output_tokens: 2 },
    }
    const tape = new EventScript()
    const body = { model: 'claude-sonnet-4-5', max_tokens: 9, messages: [user] }
    tape.answer(tape.request(MESSAGES, body), [JSON.stringify(answer)])
    tape.answer(tape.request(MESSAGES, { ...body, messages: [user, asked, failed] }), [
      JSON.stringify({ ...answer, content: [] }),
    ])
    expect(readRun(tape.end()).steps[1]).toMatchObject({
      label: '1.1',
      state: 'failed',
      error: 'no such order',
    })
  })
})

describe('streamed answers', () => {
  const chunk = (delta: object, finish: string | null = null): string =>
    `data: ${JSON.stringify({ model: 'gpt-5-mini', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`

  test('are put together from chunks cut anywhere', () => {
    const stream = [
      chunk({ role: 'assistant', content: 'Grüße ☃' }),
      chunk({ content: '!' }),
      chunk({}, 'stop'),
      'data: [DONE]\n\n',
    ].join('')
    const bytes = new TextEncoder().encode(stream)
    const tape = new EventScript()
    const op = tape.request(CHAT, { ...chat(user), stream: true })
    tape.head(op, { type: 'text/event-stream; charset=utf-8' })
    for (let at = 0; at < bytes.length; at += 7) tape.chunk(op, bytes.slice(at, at + 7))
    tape.add({ type: 'deliver', op, part: 'end' })
    const [step] = readRun(tape.end()).steps
    expect(step?.title).toBe('gpt-5-mini → “Grüße ☃!”')
    expect(step?.costUsd).toBeUndefined()
    const response = step?.exchange()?.response
    expect(response?.events).toHaveLength(4)
    expect(response?.chunks.length).toBeGreaterThan(10)
  })

  test('that the client stopped reading at the last event are done', () => {
    const tape = new EventScript()
    const op = tape.request(CHAT, chat(user))
    tape.head(op, { type: 'text/event-stream' })
    tape.chunk(op, chunk({ content: 'Hi' }) + chunk({}, 'stop'))
    expect(readRun(tape.end()).steps[0]?.state).toBe('done')
  })

  test('that were cancelled are aborted and show what had arrived', () => {
    const tape = new EventScript()
    const op = tape.request(CHAT, chat(user))
    tape.head(op, { type: 'text/event-stream' })
    tape.chunk(op, chunk({ content: 'Hi the' }))
    expect(readRun(tape.end()).steps[0]).toMatchObject({
      state: 'aborted',
      title: 'gpt-5-mini → “Hi the” (aborted)',
    })
  })
})

test('the cost of a stream that broke off is unknown, though it has reported some tokens', () => {
  const message = { model: 'claude-sonnet-4-5', usage: { input_tokens: 9, output_tokens: 1 } }
  const tape = new EventScript()
  const op = tape.request(MESSAGES, { model: 'claude-sonnet-4-5', max_tokens: 9, messages: [user] })
  tape.head(op, { type: 'text/event-stream' })
  tape.chunk(op, `data: ${JSON.stringify({ type: 'message_start', message })}\n\n`)
  const view = readRun(tape.end())
  expect(view.steps[0]).toMatchObject({ state: 'aborted', usage: { input: 9 }, costUsd: undefined })
  expect(view.totals.costUsd).toBeUndefined()
})

describe('steps that went wrong', () => {
  test('show the message of the provider', () => {
    const tape = new EventScript()
    tape.answer(tape.request(CHAT, chat(user)), ['{"error":{"message":"Rate limit reached"}}'], {
      status: 429,
    })
    tape.answer(tape.request('https://shop.test/orders', {}), ['{"message":"out of stock"}'], {
      status: 409,
    })
    const [model, http] = readRun(tape.end()).steps
    expect(model).toMatchObject({
      state: 'failed',
      title: 'gpt-5-mini → 429 Trouble: Rate limit reached',
    })
    expect(http).toMatchObject({
      kind: 'http',
      state: 'failed',
      title: 'POST https://shop.test/orders 409',
      error: '409 Trouble: out of stock',
    })
    expect(readRun(tape).totals).toMatchObject({ modelCalls: 1, costUsd: 0 })
  })

  test('carry errors of the network and of tools, and distinguish an abort', () => {
    const tape = new EventScript()
    const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
    const error = recordError(new TypeError('fetch failed', { cause: reset }))
    tape.add({ type: 'deliver', op: tape.request(CHAT, chat(user)), part: 'error', error })
    const abort = recordError(new DOMException('This operation was aborted', 'AbortError'))
    tape.add({ type: 'deliver', op: tape.request(CHAT, chat(user)), part: 'error', error: abort })
    tape.add({
      type: 'result',
      op: tape.tool('charge', { usd: 1 }),
      error: recordError(new RangeError('too much')),
    })
    expect(readRun(tape.end()).steps.map(({ state, error: text }) => [state, text])).toEqual([
      ['failed', 'TypeError: fetch failed ← Error: read ECONNRESET'],
      ['aborted', 'AbortError: This operation was aborted (20)'],
      ['failed', 'RangeError: too much'],
    ])
  })

  test('are in doubt when the run was killed before an answer, and aborted when it went on', () => {
    const open = (): EventScript => {
      const tape = new EventScript()
      tape.request(CHAT, chat(user))
      tape.tool('charge', { usd: 1 })
      const cut = tape.request(CHAT, chat(user))
      tape.head(cut, { type: 'text/event-stream' })
      return tape
    }
    const killed = open()
    killed.status = 'truncated'
    expect(readRun(killed).steps.map(({ state }) => state)).toEqual([
      'in doubt',
      'in doubt',
      'in doubt',
    ])
    expect(readRun(killed).steps[0]?.title).toBe('gpt-5-mini → no answer')
    expect(readRun(killed).exit).toBeUndefined()
    expect(readRun(open().end(1)).steps.map(({ state }) => state)).toEqual([
      'aborted',
      'aborted',
      'aborted',
    ])
  })
})

describe('work that the agent did not await', () => {
  test('is not in doubt when the agent had moved on before the run was killed', () => {
    const tape = new EventScript()
    const op = tape.request('https://shop.test/feed', undefined, 'GET')
    tape.head(op)
    tape.chunk(op, 'first')
    tape.request('https://shop.test/next', undefined, 'GET')
    tape.status = 'truncated'
    expect(readRun(tape).steps.map(({ state }) => state)).toEqual(['aborted', 'in doubt'])
  })

  test('does not split the lane when a file was read in between', () => {
    const tape = new EventScript()
    const op = tape.request('https://shop.test/feed', undefined, 'GET')
    tape.head(op)
    tape.chunk(op, 'first')
    tape.result(tape.add({ type: 'call', kind: 'file', name: 'fs.readFileSync', sync: true }), 'x')
    tape.answer(tape.request('https://shop.test/next', undefined, 'GET'), ['ok'])
    tape.add({ type: 'deliver', op, part: 'end' })
    expect(readRun(tape.end()).lanes).toHaveLength(1)
  })
})

test('a body that fetch has decompressed is unchanged', () => {
  const tape = new EventScript()
  const op = tape.request(CHAT, chat(user))
  const headers = [
    ['content-type', 'application/json'],
    ['content-encoding', 'gzip'],
  ] as const
  tape.add({ type: 'response', op, status: 200, statusText: 'OK', headers })
  tape.chunk(op, completion(says('plain')))
  tape.add({ type: 'deliver', op, part: 'end' })
  expect(readRun(tape.end(), { gunzip: gunzipSync }).steps[0]?.title).toContain('plain')
})

describe('answers on a socket', () => {
  const http = (status: number, body: string, headers = ''): string =>
    `HTTP/1.1 ${status} OK\r\nContent-Type: application/json\r\n${headers}Content-Length: ${new TextEncoder().encode(body).length}\r\n\r\n${body}`
  const script = (): {
    tape: EventScript
    socket: number
    send: (method: string, body?: object) => number
  } => {
    const tape = new EventScript()
    const socket = tape.add({ type: 'socket', kind: 'tcp', host: '127.0.0.1', port: 4010 })
    const send = (method: string, body?: object): number =>
      tape.add(
        { type: 'request', seam: 'http', method, url: CHAT, headers: [], socket },
        body ? JSON.stringify(body) : '',
      )
    return { tape, socket, send }
  }

  test('are cut out of a connection that is kept alive', () => {
    const { tape, socket, send } = script()
    send('POST', chat(user))
    const answer = http(200, completion(says('one')))
    tape.chunk(socket, `HTTP/1.1 100 Continue\r\n\r\n${answer.slice(0, 30)}`)
    tape.chunk(socket, answer.slice(30, 200))
    tape.chunk(socket, answer.slice(200))
    send('HEAD')
    tape.chunk(socket, 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n')
    send('POST', chat(user))
    tape.chunk(socket, http(200, completion(says('two'))))
    tape.add({ type: 'deliver', op: socket, part: 'close' })
    const view = readRun(tape.end())
    expect(view.steps.map(({ title }) => title)).toEqual([
      'gpt-5-mini-2025-08-07 → “one”',
      `HEAD ${CHAT} 200`,
      'gpt-5-mini-2025-08-07 → “two”',
    ])
    expect(view.steps.map(({ state }) => state)).toEqual(['done', 'done', 'done'])
    expect(view.lanes).toHaveLength(1)
    expect(view.steps[0]?.exchange()?.response?.chunks.length).toBe(2)
  })

  test('are matched in order when requests did not wait', () => {
    const { tape, socket, send } = script()
    send('POST', chat(user))
    send('POST', chat(user))
    tape.chunk(socket, http(200, completion(says('one'))))
    send('POST', chat(user))
    tape.chunk(socket, http(200, completion(says('two'))))
    tape.chunk(socket, http(200, completion(says('three'))))
    expect(readRun(tape.end()).steps.map(({ title }) => title.replace(/.*“|”/g, ''))).toEqual([
      'one',
      'two',
      'three',
    ])
  })

  test('are decompressed if a decompressor is given', () => {
    const { tape, socket, send } = script()
    send('POST', chat(user))
    const body = gzipSync(completion(says('packed')))
    tape.chunk(
      socket,
      `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: ${body.length}\r\n\r\n`,
    )
    tape.chunk(socket, body)
    tape.end()
    expect(readRun(tape, { gunzip: gunzipSync }).steps[0]?.title).toContain('packed')
    const [step] = readRun(tape).steps
    expect(step).toMatchObject({ state: 'done', title: 'gpt-5-mini → nothing' })
    expect(step?.exchange()?.response).toMatchObject({ undecoded: 'gzip', text: undefined })
  })

  test('that were cut off by the other side failed', () => {
    const { tape, socket, send } = script()
    send('POST', chat(user))
    tape.chunk(socket, http(200, completion(says('never'))).slice(0, 150))
    tape.add({
      type: 'deliver',
      op: socket,
      part: 'error',
      error: recordError(new Error('read ECONNRESET')),
    })
    expect(readRun(tape.end()).steps[0]).toMatchObject({
      state: 'failed',
      error: 'Error: read ECONNRESET',
    })
  })

  test('that last until the connection ends are complete only when it ends well', () => {
    const outcome = (part: string): unknown => {
      const { tape, socket, send } = script()
      send('GET')
      tape.chunk(socket, 'HTTP/1.1 200 OK\r\n\r\nall of it')
      const error = part === 'error' ? { error: recordError(new Error('reset')) } : {}
      tape.add({ type: 'deliver', op: socket, part, ...error })
      return readRun(tape.end()).steps[0]?.state
    }
    expect([outcome('end'), outcome('error')]).toEqual(['done', 'failed'])
  })

  test('are not affected by later events of the idle connection', () => {
    const { tape, socket, send } = script()
    send('POST', chat(user))
    tape.chunk(socket, http(200, completion(says('fine'))))
    tape.answer(tape.request(CHAT, chat(user)), [completion(says('later'))])
    tape.answer(tape.request(CHAT, chat(user)), [completion(says('last'))])
    tape.add({
      type: 'deliver',
      op: socket,
      part: 'error',
      error: recordError(new Error('read ECONNRESET')),
    })
    const view = readRun(tape.end())
    expect(view.steps[0]).toMatchObject({ state: 'done', error: undefined })
    expect(view.lanes).toHaveLength(1)
  })

  test('a connection that could not be made is a failed step', () => {
    const { tape, socket } = script()
    const error = recordError(
      Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
    )
    tape.add({ type: 'deliver', op: socket, part: 'error', error })
    expect(readRun(tape.end()).steps[0]).toMatchObject({
      kind: 'http',
      state: 'failed',
      title: 'connect tcp 127.0.0.1:4010 (ECONNREFUSED)',
    })
  })

  test('a step takes no field that the record of its kind does not have', () => {
    const tape = new EventScript()
    const foreign = { within: {}, site: 7 } as object
    const op = tape.add({ type: 'socket', kind: 'tcp', host: 'h', port: 1, ...foreign })
    tape.add({ type: 'deliver', op, part: 'error', error: recordError(new Error('refused')) })
    tape.add({ type: 'note', kind: 'mark', name: 'here', ...foreign, site: 'agent.ts:1:1' })
    const steps = readRun(tape.end()).steps
    expect(steps.map((step) => step.within)).toEqual([[], []])
    expect(steps.map((step) => step.site)).toEqual([undefined, 'agent.ts:1:1'])
  })

  test('a database connection that breaks later is not a step', () => {
    const { tape, socket } = script()
    tape.add({ type: 'deliver', op: socket, part: 'connect' })
    tape.add({ type: 'deliver', op: socket, part: 'chunk' }, 'welcome')
    const error = recordError(new Error('read ECONNRESET'))
    tape.add({ type: 'deliver', op: socket, part: 'error', error })
    expect(readRun(tape.end()).steps).toEqual([])
  })
})

describe('other steps', () => {
  test('child processes show their command, their output and how they ended', () => {
    const tape = new EventScript()
    const op = tape.add(
      { type: 'call', kind: 'process', name: 'spawn', title: 'git status', as: 'json' },
      '{"file":"git"}',
    )
    tape.add({ type: 'deliver', op, part: 'chunk', pipe: 2 }, 'fatal')
    tape.add({ type: 'deliver', op, part: 'end', pipe: 2 })
    tape.add({ type: 'deliver', op, part: 'exit', value: toWire([128, null]) })
    tape.add({ type: 'deliver', op, part: 'close', value: toWire([128, null]) })
    const sync = tape.add(
      { type: 'call', kind: 'process', name: 'spawnSync', title: 'true', as: 'json', sync: true },
      '{}',
    )
    tape.result(sync, { status: 0, signal: null })
    const [git, quick] = readRun(tape.end()).steps
    expect(git).toMatchObject({
      kind: 'process',
      title: 'git status',
      state: 'failed',
      error: 'exit code 128',
    })
    expect(
      git?.call()?.output.map(({ pipe, bytes }) => [pipe, new TextDecoder().decode(bytes)]),
    ).toEqual([[2, 'fatal']])
    expect(git?.answerSeqs.at(-1)).toBe(4)
    expect(quick).toMatchObject({ state: 'done', error: undefined })
  })

  test('marks are steps; files, timers, draws and uncaptured boundaries are not', () => {
    const tape = new EventScript()
    tape.add({ type: 'draw', kind: 'Date.now', value: 1 })
    tape.add({ type: 'note', kind: 'mark', name: 'planned', text: '3 tasks' })
    tape.add({ type: 'timer', kind: 'timeout', ms: 5 })
    const file = tape.add({ type: 'call', kind: 'file', name: 'fs.readFile', title: 'a.txt' })
    tape.result(file, 'x')
    for (let twice = 0; twice < 2; twice++)
      tape.add({ type: 'note', kind: 'boundary', name: 'SharedArrayBuffer', site: 'a.js:1:2' })
    const view = readRun(tape.end())
    expect(view.steps.map(({ kind, title }) => [kind, title])).toEqual([
      ['mark', 'planned: 3 tasks'],
    ])
    expect(view.notCaptured).toEqual([
      {
        what: 'SharedArrayBuffer',
        at: 'a.js:1:2',
        count: 2,
        code: 'may-differ',
        consequence: 'replay may differ there',
      },
    ])
  })

  test('steps and runs become JSON', () => {
    const tape = new EventScript()
    tape.answer(tape.request(CHAT, chat(user)), [completion(says('ok'))])
    const view = readRun(tape.end())
    expect(JSON.parse(JSON.stringify(view.steps))).toMatchObject([
      { number: 1, kind: 'model', state: 'done', usage: { input: 100 } },
    ])
    expect(JSON.parse(JSON.stringify(view))).toMatchObject({
      id: 'run-1',
      totals: { modelCalls: 1 },
    })
  })
})

describe('sub-agents', () => {
  const task = (name: string, ...more: object[]) => chat({ role: 'user', content: name }, ...more)

  test('that run concurrently have a lane each, to their end', () => {
    const tape = new EventScript()
    const a1 = tape.request(CHAT, task('a'))
    const b1 = tape.request(CHAT, task('b'))
    tape.answer(a1, [completion(says('a1'))])
    tape.answer(b1, [completion(says('b1'))])
    const b2 = tape.request(CHAT, task('b', says('b1'), user))
    tape.answer(b2, [completion(says('b2'))])
    const b3 = tape.request(CHAT, task('b', says('b1'), user, says('b2'), user))
    tape.answer(b3, [completion(says('b3'))])
    const joined = tape.request(CHAT, task('sum up a and b'))
    tape.answer(joined, [completion(says('done'))])
    const view = readRun(tape.end())
    expect(view.steps.map(({ title, lane }) => [title.replace(/.*“|”/g, ''), lane])).toEqual([
      ['a1', 0],
      ['b1', 1],
      ['b2', 1],
      ['b3', 1],
      ['done', 0],
    ])
  })
})

test('a call site that was found after a request belongs to that request alone', () => {
  const tape = new EventScript()
  const first = tape.request(CHAT, chat(user))
  const second = tape.request(CHAT, chat(user))
  const note = { type: 'note', kind: 'attachment', name: SITE_NOTE } as const
  tape.add({ ...note, site: '/agent.mjs:7:3', text: String(second) })
  tape.add({ ...note, site: '/agent.mjs:9:3', text: 'no number' })
  tape.answer(first, [completion(says('Yes.'))])
  tape.answer(second, [completion(says('No.'))])
  const run = readRun(tape.end())
  expect(run.steps.map(({ site }) => site)).toEqual([undefined, '/agent.mjs:7:3'])
})
