import { once } from 'node:events'
import { connect } from 'node:http2'
import Anthropic from '@anthropic-ai/sdk'
import fc from 'fast-check'
import OpenAI from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Provider, startProvider } from './loopback-provider.mjs'
import { Dice } from './provider/dice.mjs'
import { cutOddly } from './provider/odd-chunks.mjs'
import { startProviderProcess } from './start-provider-process.mjs'

let provider: Provider
beforeAll(async () => {
  provider = await startProvider({ maxLatencyMs: 2 })
})
afterAll(() => provider.close())

const question = [{ role: 'user' as const, content: 'Where is order 1182?' }]

test('oddly cut chunks join to the same bytes', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 1 }), fc.integer(), (text, seed) => {
      const bytes = Buffer.from(text)
      const pieces = cutOddly(bytes, new Dice(seed))
      expect(Buffer.concat(pieces)).toEqual(bytes)
      expect(pieces.every((piece) => piece.length > 0)).toBe(true)
    }),
  )
})

test('characters are split across chunks', () => {
  const pieces = cutOddly(Buffer.from('☃'.repeat(50)), new Dice(1), 1000)
  expect(pieces.some((piece) => piece.toString().includes('\uFFFD'))).toBe(true)
})

test('the OpenAI SDK reads chat completions, plain and streamed, with usage that adds up', async () => {
  const client = new OpenAI({ apiKey: 'none', baseURL: `${provider.url}/v1` })
  const answer = await client.chat.completions.create({ model: 'm', messages: question })
  expect(answer.choices[0]?.message.content).toContain('über ☃ done.')
  const usage = answer.usage
  expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0))

  let text = ''
  let streamedTokens = 0
  const stream = await client.chat.completions.create({
    model: 'm',
    messages: question,
    stream: true,
    stream_options: { include_usage: true },
  })
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? ''
    streamedTokens = chunk.usage?.total_tokens ?? streamedTokens
  }
  expect(text).toContain('über ☃ done.')
  expect(streamedTokens).toBeGreaterThan(0)
})

test('the OpenAI SDK reads streamed responses with tool calls', async () => {
  const client = new OpenAI({ apiKey: 'none', baseURL: `${provider.url}/v1` })
  const response = await client.responses
    .stream({
      model: 'm',
      input: 'weather?',
      tools: [{ type: 'function', name: 'weather', parameters: { type: 'object' }, strict: false }],
    })
    .finalResponse()
  const [call] = response.output
  expect(call).toMatchObject({ type: 'function_call', name: 'weather' })
})

test('the Anthropic SDK reads messages, plain and streamed, with tool calls', async () => {
  const client = new Anthropic({ apiKey: 'none', baseURL: provider.url })
  const body = {
    model: 'm',
    max_tokens: 100,
    messages: question,
    tools: [{ name: 'weather', input_schema: { type: 'object' as const } }],
  }
  const plain = await client.messages.create(body)
  const streamed = await client.messages.stream(body).finalMessage()
  for (const message of [plain, streamed]) {
    expect(message.stop_reason).toBe('tool_use')
    expect(message.content.at(-1)).toMatchObject({
      type: 'tool_use',
      input: { city: expect.any(String) as string },
    })
  }
})

test('a flaky endpoint fails the requested number of times', async () => {
  const statuses = []
  for (let index = 0; index < 3; index++) {
    const response = await fetch(`${provider.url}/flaky?key=test&times=2&status=429`)
    await response.arrayBuffer()
    statuses.push(response.status)
  }
  expect(statuses).toEqual([429, 429, 200])
})

test('HTTP/2 serves the same endpoints', async () => {
  const session = connect(provider.h2Url)
  const stream = session.request({ ':path': '/events?count=3' })
  let text = ''
  stream.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  await once(stream, 'end')
  session.close()
  expect(text.match(/^data: /gm)).toHaveLength(3)
})

test('requests and connections are counted and reported when the provider process stops', async () => {
  const started = await startProviderProcess({ seed: 1, maxLatencyMs: 1 })
  await (await fetch(`${started.url}/echo`, { method: 'POST', body: 'hello' })).arrayBuffer()
  expect(await started.stop()).toMatchObject({ requests: 1, socketsOpened: 1 })
  await expect(fetch(`${started.url}/echo`)).rejects.toThrow('fetch failed')
})
