import { connect } from 'node:http2'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import { afterEach, describe, expect, test } from 'vitest'
import { PROVIDERS } from '@retake/tape'
import { startModelServer } from './index.js'
import type { ModelServer, ModelServerOptions, ScriptedAnswer } from './index.js'

let server: ModelServer
const serve = async (options: ModelServerOptions): Promise<ModelServer> =>
  (server = await startModelServer(options))
afterEach(() => server?.stop())

const send = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(server.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })

const chat = (content: string, more: object = {}) =>
  send('/openai/v1/chat/completions', {
    model: 'gpt-4o-mini',
    messages: [{ role: 'user', content }],
    ...more,
  })

const textOf = async (response: Response): Promise<string> => {
  const { choices } = (await response.json()) as { choices: [{ message: { content: string } }] }
  return choices[0].message.content
}

test.each([
  [[{ txt: 'hello' }], 'Answer 1 has "txt".'],
  [[{ text: 'hello' }, 'world'], 'Answer 2 is "world".'],
  [{ text: 'hello' }, '`answers` is not a list.'],
])('a script that cannot be meant is refused: %j', async (answers, why) => {
  await expect(startModelServer({ answers: answers as ScriptedAnswer[] })).rejects.toMatchObject({
    code: 'SCRIPT_INVALID',
    why,
  })
})

test('a function may decide, and wins over a list', async () => {
  await serve({
    answers: [{ text: 'from the list' }],
    answer: ({ messages, number }) => Promise.resolve({ text: `${number}: ${messages[0]?.text}` }),
  })
  expect(await textOf(await chat('one'))).toBe('1: one')
  expect(await textOf(await chat('two'))).toBe('2: two')
  expect(server.unused).toHaveLength(1)
})

test('an error of the function is sent to the client with the advice not to retry', async () => {
  await serve({
    answer: () => {
      throw new TypeError('no such customer')
    },
  })
  const response = await chat('x')
  expect(response.status).toBe(500)
  expect(response.headers.get('x-should-retry')).toBe('false')
  expect(await response.json()).toMatchObject({
    error: { message: 'TypeError: no such customer', type: 'server_error' },
  })
})

test('concurrent agents are distinguished by their messages', async () => {
  const names = Array.from({ length: 50 }, (_, index) => `customer-${index};`)
  const answers = names.toReversed().map((name, index): ScriptedAnswer => ({
    text: `Hello, ${name}`,
    when: { contains: name },
    delayMs: index % 5,
  }))
  await serve({ answers })
  const heard = await Promise.all(names.map(async (name) => textOf(await chat(`I am ${name}`))))
  expect(heard).toEqual(names.map((name) => `Hello, ${name}`))
  expect(server.unused).toEqual([])
})

test('the same script gives the same bytes', async () => {
  const answers: ScriptedAnswer[] = [
    { text: 'One two three.', reasoning: 'Hm.', toolCalls: [{ name: 'a', args: { b: 1 } }] },
    { text: 'Four.' },
  ]
  const said: string[] = []
  for (let run = 0; run < 2; run++) {
    await serve({ answers })
    const first = await chat('x', { stream: true })
    const second = await send('/v1/messages', { model: 'c', max_tokens: 1, messages: [] })
    said.push(`${head(first)}${await first.text()}${head(second)}${await second.text()}`)
    await server.stop()
  }
  expect(said[0]).toBe(said[1])
  expect(said[0]).toContain('chatcmpl-000000000001')
  expect(said[0]).toContain('msg_000000000002')
})

const head = ({ headers }: Response): string => JSON.stringify([...headers])

test('a streamed text is cut into the requested number of pieces', async () => {
  await serve({ answers: [{ text: 'abcdefgh', chunks: 4 }] })
  const events = (await (await chat('x', { stream: true })).text()).split('\n\n')
  const pieces = events.filter((event) => /"content":"[^"]/.test(event))
  expect(pieces).toHaveLength(4)
})

test('the chunks of a streamed response add up to its final message', async () => {
  const toolCalls = [
    { name: 'a', args: { first: 'call' } },
    { name: 'b', args: { second: 'call' } },
  ]
  await serve({ answers: [{ text: 'One two.', reasoning: 'Hm.', toolCalls }] })
  const stream = await send('/v1/responses', { model: 'm', input: 'x', stream: true })
  const events = [...(await stream.text()).matchAll(/^data: (.*)$/gm)].map(
    ([, data = '']) => JSON.parse(data) as Record<string, string>,
  )
  const pieces = events.filter(({ type }) => type?.endsWith('.delta'))
  const ends = events.filter(({ type }) => /(text|arguments)\.done$/.test(type ?? ''))
  const added = ends.map(({ item_id: id }) =>
    pieces.map((piece) => (piece['item_id'] === id ? piece['delta'] : '')).join(''),
  )
  expect(added).toEqual(ends.map((end) => end['text'] ?? end['arguments']))
  expect(added).toEqual(['Hm.', 'One two.', '{"first":"call"}', '{"second":"call"}'])
  expect(events.map((event) => event['sequence_number'])).toEqual([...events.keys()])
})

test('an answer waits for its delay', async () => {
  await serve({ answers: [{ text: 'late', delayMs: 80 }] })
  const started = performance.now()
  await chat('x')
  expect(performance.now() - started).toBeGreaterThan(75)
})

test.each([
  ['whole', 0],
  ['streamed', 3],
])('a connection that is to break, breaks: %s', async (_, breakAfter) => {
  await serve({ answers: [{ text: 'one two three four five', breakAfter }] })
  const failed = chat('x', { stream: breakAfter > 0 }).then((response) => response.text())
  await expect(failed).rejects.toThrow(/terminated|fetch failed/)
})

test('an error has the provider’s form, code and retry delay', async () => {
  const error = { status: 429, message: 'Slow down.', retryAfter: 7, code: 'too_many' }
  await serve({ answer: () => ({ error }) })
  const response = await chat('x')
  expect(response.status).toBe(429)
  expect(response.headers.get('retry-after')).toBe('7')
  expect(await response.json()).toEqual({
    error: { message: 'Slow down.', type: 'rate_limit_error', param: null, code: 'too_many' },
  })
})

describe('a request that is not for a model', () => {
  test.each([
    ['/v1/nothing', {}, { error: { type: 'not_found_error' } }],
    ['/mistral/v1/nothing', {}, { object: 'error' }],
    ['/anthropic/v1/nothing', {}, { type: 'error', error: { type: 'not_found_error' } }],
    ['/v1/other', { 'anthropic-version': '2023-06-01' }, { type: 'error' }],
    ['/gemini/v1beta/nothing', {}, { error: { code: 404, status: 'NOT_FOUND' } }],
    ['/vertex/nothing', {}, { error: { code: 404, status: 'NOT_FOUND' } }],
    ['/bedrock/nothing', {}, { message: expect.stringContaining('POST /bedrock/nothing') }],
    ['/ollama/nothing', {}, { error: expect.stringContaining('POST /ollama/nothing') }],
  ])('%s is a 404 in the nearest form', async (path, headers, shape) => {
    await serve({})
    const response = await send(path, {}, headers)
    expect(response.status).toBe(404)
    const body: unknown = await response.json()
    expect(body).toMatchObject(shape)
    expect(JSON.stringify(body)).toContain(`The model server has no endpoint POST ${path}.`)
    expect(server.requests).toEqual([])
  })

  test('a body that is not a JSON object is refused and uses no answer', async () => {
    await serve({ answers: [{ text: 'one' }] })
    for (const body of ['{"model":', '[]', '"x"', 'null']) {
      const response = await send('/v1/chat/completions', body)
      expect(response.status, body).toBe(400)
      expect(await response.text()).toContain('is not a JSON object')
    }
    expect(server.unused).toHaveLength(1)
  })

  test('a model needs POST', async () => {
    await serve({ answers: [{ text: 'one' }] })
    expect((await fetch(`${server.url}/v1/chat/completions`)).status).toBe(404)
    expect(server.unused).toHaveLength(1)
  })
})

test('an incomplete body is still answered', async () => {
  await serve({ answer: () => ({ text: 'ok' }) })
  expect((await send('/v1/chat/completions', { messages: [null, 3, {}] })).status).toBe(200)
  expect((await send('/v1/responses', {})).status).toBe(200)
  expect((await send('/model/m/invoke', { messages: [null, { content: [null] }] })).status).toBe(
    200,
  )
  expect((await send('/m:batchEmbedContents', { requests: 3 })).status).toBe(200)
})

test('a client that disconnects does no harm', async () => {
  await serve({ answer: () => ({ text: 'word '.repeat(2000), delayMs: 5 }) })
  const abort = new AbortController()
  const request = fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'm', messages: [], stream: true }),
    signal: abort.signal,
  })
  const reader = (await request).body!.getReader()
  await reader.read()
  abort.abort()
  await reader.read().catch(() => {})
  expect(await textOf(await chat('x'))).toContain('word')
})

test('HTTP/2 without TLS is spoken on the same port', async () => {
  await serve({ answer: ({ path }) => ({ text: `at ${path}` }) })
  const session = connect(server.url)
  const ask = async (path: string): Promise<string> => {
    const stream = session.request({ ':method': 'POST', ':path': path })
    stream.end(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x' }] }))
    return readText(stream)
  }
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => ask(`/${index}/chat/completions`)),
  )
  for (const [index, answer] of answers.entries()) expect(answer).toContain(`at /${index}/chat`)
  expect(await textOf(await chat('over HTTP/1'))).toContain('at /openai')
  session.close()
})

test('a broken stream is an error over HTTP/2, too', async () => {
  await serve({ answers: [{ text: 'one two three four five', breakAfter: 3 }] })
  const session = connect(server.url)
  const stream = session.request({ ':method': 'POST', ':path': '/model/m/converse-stream' })
  stream.end(JSON.stringify({ messages: [] }))
  await expect(readText(stream)).rejects.toThrow('NGHTTP2_INTERNAL_ERROR')
  session.close()
})

test('stop cuts open connections, and may be called twice', async () => {
  await serve({ answers: [{ text: 'never', delayMs: 60_000 }] })
  const failed = chat('x').catch(String)
  const session = connect(server.url)
  await once(session, 'connect')
  while (server.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  const closed = once(session, 'close')
  session.on('error', () => {})
  await server.stop()
  await server.stop()
  await closed
  expect(await failed).toBe('TypeError: fetch failed')
})

test('an occupied port is named in the error', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  await expect(startModelServer({ port })).rejects.toMatchObject({
    code: 'MODEL_SERVER_PORT',
    message: expect.stringContaining(`port ${port}`),
  })
  other.close()
})

test('every variable leads to the server, and no key could be real', async () => {
  await serve({})
  const variables = Object.entries(server.env)
  const declared = PROVIDERS.flatMap(({ address }) => address ?? [])
  const addressNames = declared.flatMap(({ variables = [], whenSet = [] }) => [
    ...variables,
    ...whenSet,
  ])
  const keyNames = declared.flatMap(({ keys = [] }) => keys)
  expect(Object.keys(server.env)).toEqual(expect.arrayContaining([...addressNames, ...keyNames]))
  const addresses = variables.filter(([name]) => /URL|HOST|BASE|ENDPOINT/.test(name))
  const keys = variables.filter(([name]) => name.includes('KEY'))
  expect(addresses.filter(([, value]) => !value.startsWith(`${server.url}/`))).toEqual([])
  expect(keys.filter(([, value]) => !value.startsWith('made-up-'))).toEqual([])
  expect(server.env).toMatchObject({
    OPENAI_BASE_URL: `${server.url}/openai/v1`,
    ANTHROPIC_BASE_URL: `${server.url}/anthropic`,
    AWS_ENDPOINT_URL_BEDROCK_RUNTIME: `${server.url}/bedrock`,
  })
})
