import { describe, expect, test } from 'vitest'
import { EventScript } from '../../../test-support/event-script.js'
import { readRun } from '../run-view.js'
import type { Step } from '../step.js'

/** A child process and the messages on its pipes. */
class Pipes extends EventScript {
  readonly op: number

  constructor(title = 'docs-server') {
    super()
    this.op = this.add({ type: 'call', kind: 'process', name: 'spawn', title, as: 'json' }, '{}')
  }

  write(text: string): number {
    return this.add({ type: 'write', op: this.op }, text)
  }

  says(bytes: Uint8Array | string): number {
    return this.add({ type: 'deliver', op: this.op, part: 'chunk', pipe: 1 }, bytes)
  }

  exits(code: number): void {
    this.add({ type: 'deliver', op: this.op, part: 'exit', value: [code, null] })
  }
}

const message = (fields: object): string => `${JSON.stringify({ jsonrpc: '2.0', ...fields })}\n`
const ask = (id: number | string, method: string, params?: object): string =>
  message({ id, method, params })
const answer = (id: number | string, result: unknown): string => message({ id, result })
const hello = ask(0, 'initialize', { protocolVersion: '2025-11-25', capabilities: {} })
const welcome = answer(0, { serverInfo: { name: 'docs', version: '1' }, capabilities: {} })
const search = (id: number | string, query: string): string =>
  ask(id, 'tools/call', { name: 'search', arguments: { query } })

const line = ({ kind, state, title }: Step): string =>
  `${kind} ${state === 'done' ? '' : `${state}: `}${title}`
const stepsOf = (tape: EventScript): string[] => readRun(tape).recordedSteps.map(line)

describe('messages on pipes', () => {
  test('are assembled from pieces that are cut inside a character', () => {
    const tape = new Pipes()
    tape.write(hello)
    tape.says(welcome)
    tape.write(search(1, 'Zürich'))
    const content = [{ type: 'text', text: '☃ über' }]
    const bytes = new TextEncoder().encode(answer(1, { isError: true, content }))
    const cut = bytes.indexOf(0xe2) + 1
    const seqs = [tape.says(bytes.subarray(0, cut)), tape.says(bytes.subarray(cut))]
    const step = readRun(tape).step(3)
    expect(step?.title).toBe('search({"query":"Zürich"}) · docs')
    expect(step?.error).toBe('☃ über')
    expect(step?.call()).toMatchObject({ result: { content } })
    expect(step?.answerSeqs).toEqual(seqs)
  })

  test('are separated if several arrive in one chunk, in any order, also as a batch', () => {
    const tape = new Pipes()
    tape.write(hello + message({ method: 'notifications/initialized' }))
    tape.says(welcome)
    const asked = [ask('1', 'tools/list'), search(1, 'a'), search(2, 'b')]
    tape.write(`[${asked.map((text) => text.trim()).join(',')}]\n`)
    tape.says(answer(2, { content: [] }) + answer('1', { tools: [] }) + answer(1, { n: 1 }))
    expect(stepsOf(tape)).toEqual([
      'process aborted: docs-server · docs',
      'mcp initialize · docs',
      'mcp tools/list · docs',
      'tool search({"query":"a"}) · docs',
      'tool search({"query":"b"}) · docs',
    ])
    expect(readRun(tape).step(4)?.call()?.result).toEqual({ n: 1 })
  })

  test('are read once, even if one piece contains many', () => {
    const tape = new Pipes()
    tape.write(hello)
    tape.says(welcome)
    const ids = Array.from({ length: 500 }, (_, index) => index + 1)
    tape.write(ids.map((id) => search(id, `q${id}`)).join(''))
    tape.says(ids.map((id) => answer(id, { n: id })).join(''))
    const { recordedSteps } = readRun(tape)
    expect(recordedSteps.at(-1)?.title).toBe('search({"query":"q500"}) · docs')
    expect(recordedSteps.slice(2).map((step) => step.call()?.result)).toEqual(
      ids.map((n) => ({ n })),
    )
    expect(tape.bodyReads.length).toBeLessThan(50)
  })

  test('may have other lines between them, which count as output', () => {
    const tape = new Pipes()
    tape.write(hello)
    tape.says(`loading…\n${welcome}{"half":\n`)
    tape.says('no newline at the end')
    tape.exits(0)
    const [server, first] = readRun(tape).recordedSteps
    const printed = server?.call()?.output.map(({ bytes }) => new TextDecoder().decode(bytes))
    expect(printed).toEqual(['loading…\n', '{"half":\n', 'no newline at the end\n'])
    expect(first?.state).toBe('done')
  })

  test.each([
    [
      'an error',
      message({ id: 1, error: { code: -32602, message: 'no such tool' } }),
      '-32602 no such tool',
    ],
    [
      'isError',
      answer(1, { isError: true, content: [{ type: 'text', text: 'no index' }] }),
      'no index',
    ],
  ])('fail by %s', (_, text, error) => {
    const tape = new Pipes()
    tape.write(hello)
    tape.says(welcome)
    tape.write(search(1, 'a'))
    tape.says(text)
    expect(readRun(tape).step(3)).toMatchObject({ state: 'failed', error, kind: 'tool' })
  })

  test('that have no answer say why', () => {
    const ended = (then: (tape: Pipes) => void): Step | undefined => {
      const tape = new Pipes()
      tape.write(hello)
      tape.says(welcome)
      tape.write(search(1, 'a'))
      then(tape)
      return readRun(tape).step(3)
    }
    expect(ended((tape) => tape.exits(7))).toMatchObject({
      state: 'failed',
      error: 'the server exited with code 7 before it answered',
    })
    const params = { requestId: 1, reason: 'too slow' }
    expect(
      ended((tape) => tape.write(message({ method: 'notifications/cancelled', params }))),
    ).toMatchObject({ state: 'aborted', error: 'too slow' })
    expect(ended((tape) => (tape.status = 'truncated'))?.state).toBe('in doubt')
    expect(ended(() => {})?.state).toBe('aborted')
  })

  test('that are answered with a request for input say so', () => {
    const tape = new Pipes()
    tape.write(ask('d', 'server/discover', {}))
    tape.says(answer('d', { _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'docs' } } }))
    tape.write(search(1, 'a'))
    tape.says(answer(1, { resultType: 'input_required', inputRequests: {} }))
    expect(stepsOf(tape).slice(1)).toEqual([
      'mcp server/discover · docs',
      'tool search({"query":"a"}) · docs → input required',
    ])
  })

  test('about progress are listed with their request', () => {
    const tape = new Pipes()
    tape.write(hello)
    tape.says(welcome)
    tape.write(ask(1, 'tools/call', { name: 'count', _meta: { progressToken: 5 } }))
    tape.write(ask(2, 'tools/call', { name: 'count', _meta: { progressToken: 6 } }))
    const progress = (progressToken: number): string =>
      message({ method: 'notifications/progress', params: { progressToken, progress: 1 } })
    tape.says(progress(6) + answer(1, {}) + answer(2, {}))
    const told = [3, 4].map((label) => readRun(tape).step(label)?.mcp()?.notifications.length)
    expect(told).toEqual([0, 1])
  })

  test('of the server are separate steps, answered by the agent', () => {
    const tape = new Pipes()
    tape.write(hello)
    tape.says(welcome)
    tape.write(search(1, 'a'))
    const asked = tape.says(ask(1, 'sampling/createMessage', { maxTokens: 5 }))
    const said = tape.write(answer(1, { model: 'm' }))
    tape.says(answer(1, { content: [] }))
    expect(stepsOf(tape).slice(2)).toEqual([
      'tool search({"query":"a"}) · docs',
      'mcp sampling/createMessage ← docs',
    ])
    expect(readRun(tape).step(4)).toMatchObject({ seq: asked, answerSeqs: [said] })
  })

  test.each([
    ['another protocol', ask(0, 'initialize', { protocolVersion: 1 }), ask(1, 'session/new')],
    ['a language server', 'Content-Length: 20\r\n\r\n{"jsonrpc":"2.0"}', ''],
    ['plain text', 'pear\napple\n', ''],
  ])('of %s leave the process step unchanged', (_, ...written) => {
    const tape = new Pipes('other')
    for (const text of written) tape.write(text)
    tape.says(welcome)
    tape.exits(0)
    expect(stepsOf(tape)).toEqual(['process other'])
    expect(readRun(tape).step(1)?.call()?.output).toHaveLength(1)
  })

  test('put concurrent calls into lanes; the server itself keeps none open', () => {
    const tape = new Pipes()
    tape.write(hello)
    tape.says(welcome)
    for (const id of [1, 2, 3]) tape.write(search(id, `${id}`))
    for (const id of [2, 3, 1]) tape.says(answer(id, {}))
    tape.write(search(4, 'last'))
    tape.says(answer(4, {}))
    const lanes = readRun(tape).recordedSteps.map(({ lane }) => lane)
    expect(lanes).toEqual([0, 0, 0, 1, 2, 0])
  })
})

test('a run without writes is read without a single body', () => {
  const tape = new EventScript()
  tape.add({ type: 'call', kind: 'process', name: 'spawn', title: 'ls', as: 'json' }, '{}')
  tape.answer(tape.request('http://127.0.0.1/', { a: 1 }), ['{}'])
  tape.bodyReads.length = 0
  readRun(tape)
  expect(tape.bodyReads).toEqual([])
})

test('a tool belongs to the model step that called it, also with the name of its server', () => {
  const tape = new Pipes()
  tape.write(hello)
  tape.says(welcome)
  const asked = tape.request('http://127.0.0.1/v1/chat/completions', {
    model: 'm',
    messages: [{ role: 'user', content: 'Search.' }],
  })
  const args = JSON.stringify({ query: 'a' })
  const call = {
    id: 'c1',
    type: 'function',
    function: { name: 'mcp__docs__search', arguments: args },
  }
  const said = { role: 'assistant', content: null, tool_calls: [call] }
  tape.answer(asked, [JSON.stringify({ model: 'm', choices: [{ message: said }] })])
  tape.write(search(1, 'a'))
  tape.says(answer(1, { content: [] }))
  const view = readRun(tape)
  expect(view.steps.map(line)).toHaveLength(4)
  expect(view.step(4)).toMatchObject({ kind: 'tool', parent: '3' })
})

describe('messages over HTTP', () => {
  const url = 'http://127.0.0.1:4000/mcp'
  const post = (tape: EventScript, text: string, body: string, type?: string): Step | undefined => {
    tape.answer(tape.request(url, JSON.parse(text) as object), [body], type ? { type } : {})
    return readRun(tape).recordedSteps.at(-1)
  }

  test('are read from JSON and from streams, in pieces and with other messages before', () => {
    const tape = new EventScript()
    expect(post(tape, hello, welcome)).toMatchObject({ kind: 'mcp', title: 'initialize · docs' })
    const progress = message({ method: 'notifications/progress', params: { progress: 1 } })
    const stream = `data: ${progress}\nevent: message\ndata: ${answer(1, { n: 1 })}\n`
    const step = post(tape, search(1, 'a'), stream, 'text/event-stream')
    expect(step).toMatchObject({ kind: 'tool', title: 'search({"query":"a"}) · docs' })
    expect(step?.mcp()).toMatchObject({ transport: 'http', result: { n: 1 } })
    expect(step?.mcp()?.notifications).toMatchObject([{ method: 'notifications/progress' }])
  })

  test('are not MCP if another protocol uses JSON-RPC', () => {
    const tape = new EventScript()
    const step = post(tape, ask(1, 'eth_blockNumber'), answer(1, '0x1'))
    expect(step).toMatchObject({ kind: 'http', title: `POST ${url} 200` })
    expect(step?.mcp()).toBeUndefined()
  })

  test('that were refused by status fail with the message of the server', () => {
    const tape = new EventScript()
    const op = tape.request(url, JSON.parse(search(1, 'a')) as object)
    const error = message({ id: null, error: { code: -32000, message: 'Session not found' } })
    tape.answer(op, [error], { status: 404 })
    expect(readRun(tape).step(1)).toMatchObject({
      state: 'failed',
      error: '-32000 Session not found',
    })
  })
})
